import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Why one of the server's own URLs was refused: a status and a word, which say nothing that the caller does not know.
struct BytesRefusal: Error {
    let status: Int
    let failure: WireFailure

    init(_ status: Int, _ code: WireFailure.Code, _ message: String) {
        self.status = status
        failure = WireFailure(code, message)
    }

    static let forbidden = BytesRefusal(403, .forbidden, "The URL does not allow this request, or has expired.")
    static let taken = BytesRefusal(412, .integrity, "There is an object already.")
    static let missing = BytesRefusal(404, .missing, "There is no such object.")
}

extension FolderStore {
    /// Takes the bytes of an object or of a part. Each URL has one body at a time: more of them would fill the disk
    /// with what was announced once.
    ///
    /// - Parameters:
    ///   - signature: of the URL.
    ///   - charge: counts the body's bytes for the caller.
    /// - Throws: ``BytesRefusal``; what the body throws; `WireFailure` when another body of the URL is being received.
    func put<Body: AsyncSequence>(
        _ permit: FolderPermit, _ headers: [String: String], _ body: Body, signature: String,
        charge: (Int64) throws -> Void
    ) async throws -> BytesReply where Body.Element: Collection<UInt8> & Sendable {
        let (byteCount, sha256) = try permit.announced
        guard let length = headers["content-length"] else {
            throw BytesRefusal(411, .invalidRequest, "The length of the body has to be told before.")
        }
        guard Int64(length) == byteCount else { throw BytesRefusal.forbidden }
        guard receiving.withLock({ $0.insert(signature).inserted }) else {
            throw WireFailure(.throttled, "A body of this URL is being received: ask again.", retryAfter: 5)
        }
        defer { receiving.withLock { _ = $0.remove(signature) } }
        let target = try await run(permit.key) { _ in
            try self.requireRoom(for: byteCount, permit.key)
            return try self.target(of: permit)
        }
        do {
            try charge(byteCount)
            try await fill(target, byteCount, sha256, body)
            try await run(permit.key) { _ in try self.finish(target, permit) }
        } catch {
            try await run(permit.key) { _ in _ = try target.folder.remove(target.name) }
            throw error
        }
        return BytesReply(status: 200, headers: [FolderSigner.proofField: sha256], body: .whole([]))
    }

    /// Where the bytes go until they are all there.
    private struct Target: Sendable {
        let folder: Directory
        let name: String
        let file: Descriptor
    }

    private func target(of permit: FolderPermit) throws -> Target {
        let folder: Directory
        switch permit.purpose {
        case .get: throw BytesRefusal.forbidden
        case .put(_, _, let replaces):
            // Before the body comes: it would be in vain.
            if !replaces, try status(of: permit.key) != nil { throw BytesRefusal.taken }
            folder = try uploads()
        case .part(_, let upload, _, _):
            guard let found = try self.folder(of: upload) else { throw BytesRefusal.missing }
            folder = found
        }
        let name = UUID().uuidString.lowercased()
        return Target(folder: folder, name: name, file: try folder.create(name))
    }

    private func fill<Body: AsyncSequence>(
        _ target: Target, _ byteCount: Int64, _ sha256: String, _ body: Body
    ) async throws where Body.Element: Collection<UInt8> & Sendable {
        var hash = ContentHash()
        var pending: [UInt8] = []
        pending.reserveCapacity(1 << 18)
        for try await piece in body {
            guard hash.byteCount + Int64(pending.count) + Int64(piece.count) <= byteCount else {
                throw BytesRefusal(400, .integrity, "The body is longer than its URL allows.")
            }
            pending.append(contentsOf: piece)
            if pending.count >= 1 << 18 { hash = try await write(&pending, to: target, hash) }
        }
        hash = try await write(&pending, to: target, hash)
        guard hash.byteCount == byteCount, hash.hex == sha256 else {
            throw BytesRefusal(400, .integrity, "The body is not the one that its URL allows.")
        }
    }

    private func write(_ bytes: inout [UInt8], to target: Target, _ hash: ContentHash) async throws -> ContentHash {
        let piece = bytes
        bytes.removeAll(keepingCapacity: true)
        return try await threads.run { _ in
            var hash = hash
            piece.withUnsafeBytes { hash.update($0) }
            try target.file.write(piece)
            return hash
        }
    }

    private func finish(_ target: Target, _ permit: FolderPermit) throws {
        try target.file.synchronize()
        switch permit.purpose {
        case .get: return
        case .put(_, _, let replaces):
            guard try publish(target.name, in: target.folder, as: permit.key, replaces: replaces) else {
                throw BytesRefusal.taken
            }
        case .part(let number, _, _, let sha256):
            try target.folder.rename(target.name, to: target.folder, as: FolderParts.name(number, sha256))
            try target.folder.synchronize()
        }
    }

    /// Sends an object, or a range of it (RFC 9110, 14.2), if it still is the one that `if-match` names.
    ///
    /// - Throws: ``BytesRefusal``, `StorageError`.
    func get(_ permit: FolderPermit, _ headers: [String: String]) async throws -> BytesReply {
        guard case .get = permit.purpose else { throw BytesRefusal.forbidden }
        let (file, byteCount, tag) = try await run(permit.key) { _ in
            let place = try self.place(of: permit.key, makes: false)
            let file = try place.folder.openForReading(place.name)
            let status = try file.status()
            guard status.isRegularFile else { throw BytesRefusal.missing }
            return (file, status.byteCount, DirectoryStorage.entityTag(of: status))
        }
        if let wanted = headers["if-match"], wanted != "*", EntityTag(wanted)?.text != tag {
            throw BytesRefusal(412, .integrity, "The object is another one by now.")
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

        /// nil for what is no single range, which is ignored then, as the standard allows.
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
    /// Length and SHA-256 of what may be sent.
    fileprivate var announced: (Int64, String) {
        get throws(BytesRefusal) {
            switch purpose {
            case .get: throw BytesRefusal.forbidden
            case .put(let byteCount, let sha256, _), .part(_, _, let byteCount, let sha256): (byteCount, sha256)
            }
        }
    }
}
