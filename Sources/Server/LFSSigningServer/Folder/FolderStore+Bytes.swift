import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// The refusal of a request to one of the server's own URLs. It reveals nothing that the caller does not know.
struct BytesRefusal: Error {
    let status: Int
    let failure: WireFailure

    init(_ status: Int, code: WireFailure.Code, message: String) {
        self.status = status
        failure = WireFailure(code, message: message)
    }

    static let forbidden = BytesRefusal(
        403, code: .forbidden, message: "The URL does not allow this request, or has expired.")
    static let taken = BytesRefusal(412, code: .integrity, message: "The object already exists.")
    static let missing = BytesRefusal(404, code: .missing, message: "There is no such object.")
}

extension FolderStore {
    /// Receives the bytes of an object or of a part. Each URL accepts one body at a time. Several bodies could fill the
    /// disk although their bytes were announced only once.
    ///
    /// - Parameters:
    ///   - signature: the signature of the URL.
    ///   - charge: counts the body's bytes for the caller.
    /// - Throws: ``BytesRefusal``, `WireFailure` if another body of the URL is being received, and errors of the body.
    func put<Body: AsyncSequence>(
        _ permit: FolderPermit, headers: [String: String], _ body: Body, signature: String,
        charge: (Int64) throws -> Void
    ) async throws -> BytesReply where Body.Element: Collection<UInt8> & Sendable {
        let (byteCount, sha256) = try permit.announced
        guard let length = headers["content-length"] else {
            throw BytesRefusal(411, code: .invalidRequest, message: "The request needs a Content-Length.")
        }
        guard Int64(length) == byteCount else { throw BytesRefusal.forbidden }
        guard let pendingCount = unwritten.begin(signature, byteCount: byteCount) else {
            throw WireFailure(.throttled, message: "A body of this URL is being received. Try again.", retryAfter: 5)
        }
        defer { unwritten.end(signature) }
        let target = try await run(permit.key) { _ in
            try self.requireRoom(for: pendingCount, permit.key)
            return try self.target(of: permit, signature: signature)
        }
        do {
            try charge(byteCount)
            try await fill(target, byteCount: byteCount, sha256: sha256, body)
            try await run(permit.key) { _ in try self.finish(target, permit: permit) }
        } catch {
            try await run(permit.key) { _ in _ = try target.folder.remove(target.name) }
            throw error
        }
        return BytesReply(status: 200, headers: [FolderSigner.proofField: sha256], body: .whole([]))
    }

    /// The temporary file of a body that is being received.
    private struct Target: Sendable {
        /// The signature of the URL.
        let signature: String
        let folder: Directory
        let name: String
        let file: Descriptor
    }

    private func target(of permit: FolderPermit, signature: String) throws -> Target {
        let folder: Directory
        switch permit.purpose {
        case .get: throw BytesRefusal.forbidden
        case .put(_, _, let replaces):
            // Checked before the body is received, because receiving it would be in vain.
            if !replaces, try status(of: permit.key) != nil { throw BytesRefusal.taken }
            folder = try uploads()
        case .part(_, let upload, _, _):
            guard let found = try self.folder(of: upload) else { throw BytesRefusal.missing }
            folder = found
        }
        let name = UUID().uuidString.lowercased()
        return Target(signature: signature, folder: folder, name: name, file: try folder.create(name))
    }

    private func fill<Body: AsyncSequence>(
        _ target: Target, byteCount: Int64, sha256: String, _ body: Body
    ) async throws where Body.Element: Collection<UInt8> & Sendable {
        var hash = ContentHash()
        var pending: [UInt8] = []
        pending.reserveCapacity(1 << 18)
        for try await piece in body {
            guard hash.byteCount + Int64(pending.count) + Int64(piece.count) <= byteCount else {
                throw BytesRefusal(400, code: .integrity, message: "The body is larger than its URL allows.")
            }
            pending.append(contentsOf: piece)
            if pending.count >= 1 << 18 { hash = try await write(&pending, to: target, hash: hash) }
        }
        hash = try await write(&pending, to: target, hash: hash)
        guard hash.byteCount == byteCount, hash.hex == sha256 else {
            throw BytesRefusal(400, code: .integrity, message: "The body is not the one that its URL allows.")
        }
    }

    private func write(_ bytes: inout [UInt8], to target: Target, hash: ContentHash) async throws -> ContentHash {
        let piece = bytes
        bytes.removeAll(keepingCapacity: true)
        return try await threads.run { _ in
            var hash = hash
            piece.withUnsafeBytes { hash.update($0) }
            try target.file.write(piece)
            self.unwritten.subtract(piece.count, from: target.signature)
            return hash
        }
    }

    private func finish(_ target: Target, permit: FolderPermit) throws {
        try target.file.synchronize()
        switch permit.purpose {
        case .get: return
        case .put(_, _, let replaces):
            guard try publish(target.name, in: target.folder, as: permit.key, replaces: replaces) else {
                throw BytesRefusal.taken
            }
        case .part(let number, _, _, let sha256):
            try target.folder.rename(target.name, to: target.folder, as: FolderParts.name(number, sha256: sha256))
            try target.folder.synchronize()
        }
    }

    /// Sends an object or a range of it (RFC 9110, section 14.2), if it still is the version that `if-match` names.
    ///
    /// - Throws: ``BytesRefusal``, `StorageError`.
    func get(_ permit: FolderPermit, headers: [String: String]) async throws -> BytesReply {
        guard case .get = permit.purpose else { throw BytesRefusal.forbidden }
        let (file, byteCount, tag) = try await run(permit.key) { _ in
            let place = try self.place(of: permit.key, makes: false)
            let file = try place.folder.openForReading(place.name)
            let status = try file.status()
            guard status.isRegularFile else { throw BytesRefusal.missing }
            return (file, status.byteCount, DirectoryStorage.entityTag(of: status))
        }
        if let wanted = headers["if-match"], wanted != "*", EntityTag(wanted)?.text != tag {
            throw BytesRefusal(412, code: .integrity, message: "The object has changed.")
        }
        var fields = [
            "etag": "\"\(tag)\"", "accept-ranges": "bytes", "content-type": "application/octet-stream",
            "x-content-type-options": "nosniff", "cache-control": "private, no-store",
        ]
        let range = headers["range"].flatMap { ByteRange($0, of: byteCount) }
        switch range {
        case .unsatisfiable:
            fields["content-range"] = "bytes */\(byteCount)"
            return BytesReply(status: 416, headers: fields, body: .whole([]))
        case .part(let part):
            fields["content-range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(byteCount)"
            let pieces = FilePieces(file: file, range: part, threads: threads)
            return BytesReply(status: 206, headers: fields, body: .file(pieces))
        case nil:
            let pieces = FilePieces(file: file, range: 0..<byteCount, threads: threads)
            return BytesReply(status: 200, headers: fields, body: .file(pieces))
        }
    }

    private enum ByteRange {
        case part(Range<Int64>)
        case unsatisfiable

        /// Creates a range, or nil for a field that is not a single range. The standard permits ignoring such a field.
        init?(_ field: String, of byteCount: Int64) {
            guard field.utf8.count < 100, field.hasPrefix("bytes=") else { return nil }
            let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }) else { return nil }
            switch (Int64(ends[0]), Int64(ends[1])) {
            case (let first?, let last?) where first <= last:
                self = first < byteCount ? .part(first..<min(last, byteCount - 1) + 1) : .unsatisfiable
            case (let first?, nil) where ends[1].isEmpty:
                self = first < byteCount ? .part(first..<byteCount) : .unsatisfiable
            case (nil, let count?) where ends[0].isEmpty:
                self = count > 0 && byteCount > 0 ? .part(max(0, byteCount - count)..<byteCount) : .unsatisfiable
            default: return nil
            }
        }
    }
}

extension FolderPermit {
    /// The length and the SHA-256 of the bytes that may be sent.
    fileprivate var announced: (Int64, String) {
        get throws(BytesRefusal) {
            switch purpose {
            case .get: throw BytesRefusal.forbidden
            case .put(let byteCount, let sha256, _), .part(_, _, let byteCount, let sha256): (byteCount, sha256)
            }
        }
    }
}
