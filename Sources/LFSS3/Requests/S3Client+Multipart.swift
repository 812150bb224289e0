import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The requests of an upload in parts, as the Amazon S3 API reference names them.
extension S3Client {
    /// CreateMultipartUpload.
    func createMultipart(_ key: ObjectKey, _ fields: HTTPHeaders) async throws -> String {
        var request = S3Request(.post, key, query: [("uploads", "")])
        request.headers = fields
        request.body = .bytes([])
        return try CreateMultipartReply(try await send(request).body).uploadID
    }

    /// ListParts, all pages.
    func parts(of key: ObjectKey, _ uploadID: String) async throws -> [ListPartsReply.Part] {
        var parts: [ListPartsReply.Part] = []
        var marker: Int?
        repeat {
            var request = S3Request(.get, key, query: [("uploadId", uploadID)])
            if let marker { request.query.append(("part-number-marker", String(marker))) }
            request.reply = .bytes(limit: 4 << 20)
            let reply = try Self.read(try await send(request).body) { body throws(StorageError) in
                try ListPartsReply(body)
            }
            parts += reply.parts
            // A marker that does not move on would never end.
            guard reply.nextMarker.map({ $0 > marker ?? 0 }) ?? true else {
                throw StorageError(.serverError, "The server lists the same parts again.", key: key)
            }
            marker = reply.nextMarker
        } while marker != nil
        return parts
    }

    /// ListMultipartUploads below a prefix of keys, one page.
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

    /// AbortMultipartUpload, repeated until the server lists no parts of the upload: a part that arrives during an
    /// abort may stay.
    ///
    /// Where the server's lists cannot be read, three aborts that it has accepted are enough.
    func abort(_ key: ObjectKey, _ uploadID: String) async throws {
        var isReadable = true
        for _ in 0..<3 {
            do {
                let response = try await send(S3Request(.delete, key, query: [("uploadId", uploadID)]))
                guard response.confirmsRemoval else { throw StorageError.notFromS3(key) }
                if try await parts(of: key, uploadID).isEmpty { return }
            } catch let failure as S3Failure where failure.isNoSuchUpload {
                return
            } catch let error as StorageError where (error.cause as? UnreadableReply)?.isWhole == true {
                isReadable = false
            }
        }
        if !isReadable { return }
        throw StorageError(.serverError, "The server keeps parts of an upload that was given up.", key: key)
    }
}
