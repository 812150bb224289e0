import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Uploads in parts in a folder: `.uploads/<upload>/<number>-<sha256>`. The name of a part is proof of its content,
/// because a part gets its name only after its bytes were compared.
extension FolderStore: MultipartStore {
    var limits: PartLimits { PartLimits(maximumCount: 10_000, minimumSize: 1 << 20, maximumSize: 5 << 30) }
    var threshold: Int64 { partOptions.threshold }
    var partSize: Int64? { partOptions.size }

    func begin(_ order: UploadOrder) async throws -> String {
        let name = UUID().uuidString.lowercased()
        try await run(order.key) { _ in
            _ = try self.uploads().openOrMake(name)
        }
        return name
    }

    func present(_ ticket: UploadTicket) async throws -> [SigningAnswer.Part]? {
        try await run(ticket.key) { _ in
            guard let folder = try self.folder(of: ticket.upload) else { return nil }
            return try FolderParts.list(folder).map(\.part)
        }
    }

    func complete(_ ticket: UploadTicket, digests: PartsDigests) async throws -> PartsOutcome {
        guard joining.withLock({ $0.insert(ticket.upload).inserted }) else { throw Self.isJoining }
        defer { joining.withLock { _ = $0.remove(ticket.upload) } }
        return try await run(ticket.key, on: joinThreads) { flag in
            let uploads = try self.uploads()
            let record = try self.record(of: ticket.key)
            // The reply to an earlier attempt was lost.
            if record?.upload == ticket.upload, record?.sha256 == ticket.bytes.sha256 {
                Self.dropParts(ticket, in: uploads)
                return .done
            }
            guard let folder = try self.folder(of: ticket.upload) else { return .lost }
            let parts = try FolderParts.list(folder)
            _ = try digests.isSatisfied(by: parts.map(\.part), of: ticket)
            // Checked before the bytes are copied, because the copy would be in vain.
            if !ticket.replaces, try self.status(of: ticket.key) != nil { return .taken }
            guard let pendingCount = self.unwritten.begin(ticket.upload, byteCount: ticket.bytes.byteCount) else {
                throw Self.isJoining
            }
            defer { self.unwritten.end(ticket.upload) }
            try self.requireRoom(for: pendingCount, ticket.key)
            guard let name = try self.join(parts, of: folder, in: uploads, ticket: ticket, flag: flag) else {
                // Keeping the parts would only repeat the same result.
                Self.dropParts(ticket, in: uploads)
                return .wrong
            }
            let isDone = try self.publish(name, in: uploads, as: ticket.key, replaces: ticket.replaces)
            Self.dropParts(ticket, in: uploads)
            return isDone ? .done : .taken
        }
    }

    private static var isJoining: WireFailure {
        WireFailure(.throttled, message: "The parts of this upload are being assembled. Try again.", retryAfter: 5)
    }

    /// Removes the parts of an object that now exists. The next sweep removes any part that remains.
    private static func dropParts(_ ticket: UploadTicket, in uploads: Directory) {
        try? FolderParts.removeFolder(ticket.upload, in: uploads)
    }

    /// Creates a file with the bytes of all parts and records its SHA-256.
    ///
    /// - Returns: the file's name, or nil if the joined parts are not the announced object.
    private func join(
        _ parts: [FolderParts.Entry], of folder: Directory, in uploads: Directory, ticket: UploadTicket,
        flag: CancellationFlag
    ) throws -> String? {
        let name = UUID().uuidString.lowercased()
        do {
            let file = try uploads.create(name)
            guard try copy(parts, of: folder, to: file, ticket: ticket, flag: flag) else {
                try uploads.remove(name)
                return nil
            }
            // The record is stored before the file is renamed, which does not change its tag. After a crash, the object
            // and its record both exist, or neither is found.
            let tag = DirectoryStorage.entityTag(of: try file.status())
            let record = FolderDigests.Record(
                key: ticket.key.rawValue, entityTag: tag, sha256: ticket.bytes.sha256, upload: ticket.upload)
            try self.digests.keep(record, of: ticket.key)
        } catch {
            try uploads.remove(name)
            throw error
        }
        return name
    }

    private func copy(
        _ parts: [FolderParts.Entry], of folder: Directory, to file: Descriptor, ticket: UploadTicket,
        flag: CancellationFlag
    ) throws -> Bool {
        var hash = ContentHash()
        for part in parts {
            let source = try folder.openForReading(part.name)
            try FileCopy.forEachChunk(of: source, 0..<part.part.size, flag: flag) { bytes in
                hash.update(bytes)
                try file.write(bytes)
                unwritten.subtract(bytes.count, from: ticket.upload)
            }
        }
        guard hash.hex == ticket.bytes.sha256, hash.byteCount == ticket.bytes.byteCount else { return false }
        try file.synchronize()
        return true
    }

    /// Cancels an upload. Refused while the parts are being joined, because the object would appear although the caller
    /// has received the answer that it does not exist.
    func abort(_ ticket: UploadTicket) async throws {
        guard joining.withLock({ $0.insert(ticket.upload).inserted }) else { throw Self.isJoining }
        defer { joining.withLock { _ = $0.remove(ticket.upload) } }
        try await run(ticket.key) { _ in
            guard try self.folder(of: ticket.upload) != nil else { return }
            try FolderParts.removeFolder(ticket.upload, in: self.uploads())
        }
    }

    /// Returns the folder of an upload, or nil if it does not exist. The name comes from one of the server's own tokens
    /// or URLs, but its form is checked anyway.
    func folder(of upload: String) throws -> Directory? {
        guard UUID(uuidString: upload) != nil else { return nil }
        do {
            return try uploads().openFolder(upload)
        } catch let error as SystemError where error.isMissing {
            return nil
        }
    }
}

/// Reading and removal of the folder of an upload in parts.
enum FolderParts {
    struct Entry: Sendable {
        let name: String
        let part: SigningAnswer.Part
        let modified: Nanoseconds
    }

    static func name(_ number: Int, sha256: String) -> String { "\(number)-\(sha256)" }

    /// Returns the parts sorted by number. If two parts have the same number because other bytes were sent later, the
    /// newer one is used.
    static func list(_ folder: Directory) throws -> [Entry] {
        var entries: [Int64: Entry] = [:]
        try folder.forEachFile { name in
            let halves = name.split(separator: "-").map(String.init)
            guard halves.count == 2, let number = Int64(halves[0]), WireFormat.isHex(halves[1], byteCount: 32),
                let status = try folder.status(of: name), status.isRegularFile
            else { return true }
            let part = SigningAnswer.Part(number: number, size: status.byteCount, sha256: halves[1])
            let entry = Entry(name: name, part: part, modified: status.modified)
            if entries[number].map({ $0.modified < entry.modified }) ?? true { entries[number] = entry }
            return true
        }
        return entries.values.sorted { $0.part.number < $1.part.number }
    }

    /// Removes the folder of an upload and the files in it.
    static func removeFolder(_ name: String, in uploads: Directory) throws {
        guard try uploads.status(of: name) != nil else { return }
        let folder = try uploads.openFolder(name)
        var names: [String] = []
        try folder.forEachFile { file in
            if file != ".", file != ".." { names.append(file) }
            return true
        }
        for file in names { try folder.remove(file) }
        try uploads.removeFolder(name)
        try uploads.synchronize()
    }
}

/// The rules of a folder for uploads in parts, with sizes in bytes.
struct FolderPartOptions: Sendable {
    var threshold: Int64 = 32 << 20
    var size: Int64?
}
