import Crypto
import Foundation
import LFSStorage
import Synchronization

/// Copies of databases on the storage that has their files: without one nobody knows which object is which file.
///
/// A copy is the object `<database id>/lfs-recovery/<writer>/<time>.sqlite.gz`: the whole SQLite database, compressed
/// in gzip's format. The id is the 32 hex digits that the keys of the database's files begin with, the writer is a
/// ``CopySeries``, and the time is a ``CopyTime``. The names of all files stand in it in the clear.
///
/// Earlier versions saved `lfs-recovery/<database id>/<time>.sqlite.gz`. Those copies are read and never removed. On a
/// server that gives the first part of a key to one account, they belong to the account that was first.
struct RecoveryCopies: Sendable {
    /// How many of a writer are kept.
    static let kept = 3
    private static let folder = "lfs-recovery"
    private static let ending = ".sqlite.gz"

    let storage: any RemoteStorage

    struct Copy: Sendable {
        let key: ObjectKey
        let databaseID: String
        /// The machine that has saved it; nil for one of an earlier version.
        let writer: String?
        let time: CopyTime
        let byteCount: Int64
    }

    /// Whether the storage lists the objects of all databases. A signing server lists one database at a time.
    var findsAll: Bool { storage.capabilities.kind != "signed" }

    /// Returns the copies of one database, the oldest first. Other objects in the folder are passed over.
    ///
    /// - Throws: `StorageError`.
    func list(of databaseID: String) async throws -> [Copy] {
        try await list(prefix: "\(databaseID)/\(Self.folder)/")
    }

    /// Returns the copies of all databases whose ids begin with a text, also those of earlier versions, the oldest
    /// first.
    ///
    /// Without a whole id all objects of the storage are listed.
    /// - Throws: `StorageError`; ``UploaderError`` when the storage lists one database only.
    func find(_ id: String) async throws -> [Copy] {
        let isWhole = id.utf8.count == 32
        guard isWhole || findsAll else {
            throw UploaderError(
                "A signing server lists one database at a time: give --id with all 32 digits that 'push' has shown.")
        }
        var copies = isWhole ? try await list(of: id) : try await list(prefix: id)
        do {
            copies += try await list(prefix: "\(Self.folder)/\(id)")
        } catch let error as StorageError where error.code == .forbidden && !findsAll {
            // Another account has that part of the keys, and none of these copies is ours.
        }
        var seen: Set<String> = []
        return Self.sorted(copies.filter { seen.insert($0.key.rawValue).inserted })
    }

    private func list(prefix: String) async throws -> [Copy] {
        var request = ListRequest(prefix: prefix)
        var copies: [Copy] = []
        repeat {
            let page = try await storage.list(request)
            copies += page.objects.compactMap(Self.copy)
            request.continuation = page.next
        } while request.continuation != nil
        return Self.sorted(copies)
    }

    private static func sorted(_ copies: [Copy]) -> [Copy] {
        copies.sorted { ($0.time, $0.key.rawValue) < ($1.time, $1.key.rawValue) }
    }

    /// Stores a file as the newest copy of a series.
    ///
    /// - Parameter onBytes: runs as bytes arrive there.
    /// - Throws: `StorageError`, ``UploaderError``.
    func store(
        _ file: URL, of databaseID: String, in series: CopySeries, onBytes: @escaping @Sendable () -> Void
    ) async throws {
        let (byteCount, hash) = try Self.measure(file)
        let folder = "\(databaseID)/\(Self.folder)/\(series.writer)"
        let key = try ObjectKey("\(folder)/\(series.time.name)\(Self.ending)")
        let source = try UploadSource(file: file, byteCount: byteCount, sha256: hash, contentType: "application/gzip")
        _ = try await storage.upload(source, to: key, session: UploadSession(onProgress: { _ in onBytes() }))
    }

    /// Removes the copies of one writer before the last three. Those of others stay.
    ///
    /// - Throws: `StorageError`.
    func prune(_ databaseID: String, of writer: String) async throws {
        for copy in try await list(of: databaseID).filter({ $0.writer == writer }).dropLast(Self.kept) {
            try await storage.delete(copy.key, abandoning: nil)
        }
    }

    /// Fetches a copy into a file.
    ///
    /// - Throws: `StorageError`, and what writing throws.
    func fetch(_ copy: Copy, to file: URL) async throws {
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw UploaderError("\(file.path) cannot be made: \(String(cString: strerror(errno)))") }
        // It closes with the closure that has it.
        let handle = try FileHandle(forWritingTo: file)
        let arrived = Mutex(Int64(0))
        _ = try await storage.download(
            DownloadRequest(copy.key),
            into: DownloadSink { bytes in
                // What the listing has told is all that is taken.
                let count = arrived.withLock { count in
                    count += Int64(bytes.count)
                    return count
                }
                guard count <= copy.byteCount else {
                    throw UploaderError("The copy \(copy.key) is longer than the storage says that it is.")
                }
                guard systemWriteAll(handle.fileDescriptor, bytes) else {
                    throw UploaderError("\(file.path) cannot be written: \(String(cString: strerror(errno)))")
                }
            })
    }

    // MARK: Names

    private static func copy(_ object: RemoteObject) -> Copy? {
        let parts = object.key.rawValue.split(separator: "/", omittingEmptySubsequences: false)
        let isEarlier = parts.count == 3 && parts[0] == folder
        guard isEarlier || parts.count == 4 && parts[1] == folder, let name = parts.last, name.hasSuffix(ending),
            let time = CopyTime(name: name.dropLast(ending.count))
        else { return nil }
        let id = isEarlier ? parts[1] : parts[0]
        let writer = isEarlier ? nil : parts[2]
        guard isHex(id, count: 32), writer.map({ isHex($0, count: 16) }) ?? true else { return nil }
        return Copy(
            key: object.key, databaseID: String(id), writer: writer.map(String.init), time: time,
            byteCount: object.byteCount)
    }

    private static func isHex(_ text: Substring, count: Int) -> Bool {
        text.utf8.count == count && text.allSatisfy { $0.isASCII && $0.isHexDigit && !$0.isUppercase }
    }

    private static func measure(_ file: URL) throws -> (byteCount: Int64, sha256: String) {
        let handle = try FileHandle(forReadingFrom: file)
        var (hash, count) = (SHA256(), Int64(0))
        while let piece = try handle.read(upToCount: 1 << 18), !piece.isEmpty {
            hash.update(data: piece)
            count += Int64(piece.count)
        }
        return (count, hash.finalize().hex)
    }
}
