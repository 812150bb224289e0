import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The requests of a multipart upload, by their names in the Amazon S3 API reference.
extension S3Client {
    /// Sends CreateMultipartUpload.
    func createMultipart(_ key: ObjectKey, fields: HTTPHeaders) async throws -> String {
        var request = S3Request(.post, key: key, query: [("uploads", "")])
        request.headers = fields
        request.body = .bytes([])
        return try CreateMultipartReply(try await send(request).body).uploadID
    }

    /// Sends ListParts for all pages.
    func parts(of key: ObjectKey, _ uploadID: String) async throws -> [ListPartsReply.Part] {
        var parts: [ListPartsReply.Part] = []
        var marker: Int?
        repeat {
            var request = S3Request(.get, key: key, query: [("uploadId", uploadID)])
            if let marker { request.query.append(("part-number-marker", String(marker))) }
            request.reply = .bytes(limit: 4 << 20)
            let reply = try Self.read(try await send(request).body) { body throws(StorageError) in
                try ListPartsReply(body)
            }
            parts += reply.parts
            // A marker that does not advance would cause an endless loop.
            guard reply.nextMarker.map({ $0 > marker ?? 0 }) ?? true else {
                throw StorageError(.serverError, message: "The server lists the same parts again.", key: key)
            }
            marker = reply.nextMarker
        } while marker != nil
        return parts
    }

    /// Sends ListMultipartUploads for one page below a prefix of keys.
    func uploads(below prefix: String, after marker: ListUploadsReply.Marker?) async throws -> ListUploadsReply {
        var request = S3Request(.get, query: [("uploads", ""), ("prefix", location.prefix + prefix)])
        if let marker {
            request.query.append(("key-marker", marker.key))
            if let uploadID = marker.uploadID { request.query.append(("upload-id-marker", uploadID)) }
        }
        request.reply = .bytes(limit: 4 << 20)
        return try Self.read(try await send(request).body) { body throws(StorageError) in try ListUploadsReply(body) }
    }

    /// - Throws: an error whose cause is an ``UnreadableReply``.
    private static func read<Reply>(
        _ body: [UInt8], _ parse: ([UInt8]) throws(StorageError) -> Reply
    ) throws(StorageError) -> Reply {
        do {
            return try parse(body)
        } catch {
            var error = error
            error.cause = UnreadableReply(isWhole: XMLReader.isWhole(body))
            throw error
        }
    }

    /// Sends AbortMultipartUpload until the server lists no parts of the upload. A part that arrives during an abort
    /// may remain.
    ///
    /// If the server's lists are unreadable, three accepted aborts are enough.
    func abort(_ key: ObjectKey, uploadID: String) async throws {
        var isReadable = true
        for _ in 0..<3 {
            do {
                let response = try await send(S3Request(.delete, key: key, query: [("uploadId", uploadID)]))
                guard response.confirmsRemoval else { throw StorageError.notFromS3(key) }
                if try await parts(of: key, uploadID).isEmpty { return }
            } catch let failure as S3Failure where failure.isNoSuchUpload {
                return
            } catch let error as StorageError where (error.cause as? UnreadableReply)?.isWhole == true {
                isReadable = false
            }
        }
        if !isReadable { return }
        throw StorageError(.serverError, message: "The server keeps parts of an upload that was aborted.", key: key)
    }
}
