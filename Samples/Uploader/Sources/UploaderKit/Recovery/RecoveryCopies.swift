import Crypto
import Foundation
import LFSStorage
import Synchronization

/// The copies of databases on the storage with their files. Without the database, it is unknown which object is which
/// file.
///
/// A copy is the object `<database id>/lfs-recovery/<writer>/<time>.sqlite.gz`: the whole SQLite database in gzip
/// format. The id is the prefix of 32 hexadecimal digits in the keys of the database's files, the writer is a
/// ``CopySeries``, and the time is a ``CopyTime``. All file names are readable in it.
///
/// Earlier versions saved `lfs-recovery/<database id>/<time>.sqlite.gz`. Those copies are read and never removed. On a
/// server that assigns the first part of a key to one account, they belong to the account that was first.
struct RecoveryCopies: Sendable {
    /// The number of copies that are kept for each writer.
    static let kept = 3
    private static let folder = "lfs-recovery"
    private static let ending = ".sqlite.gz"

    let storage: any RemoteStorage

    struct Copy: Sendable {
        let key: ObjectKey
        let databaseID: String
        /// The machine that has saved it. Nil for a copy of an earlier version.
        let writer: String?
        let time: CopyTime
        let byteCount: Int64
    }

    /// True if the storage lists the objects of all databases. A signing server lists one database at a time.
    var findsAll: Bool { storage.capabilities.kind != "signed" }

    /// Returns the copies of one database, the oldest first. Skips other objects in the folder.
    ///
    /// - Throws: `StorageError`.
    func list(of databaseID: String) async throws -> [Copy] {
        try await list(prefix: "\(databaseID)/\(Self.folder)/")
    }

    /// Returns the copies of all databases whose ids start with a text, including those of earlier versions, the oldest
    /// first.
    ///
    /// Without a complete id, all objects of the storage are listed.
    /// - Throws: `StorageError`. ``UploaderError`` if the storage lists only one database at a time.
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
            // This part of the keys belongs to another account, and so do its copies.
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
    /// - Parameter onBytes: called as bytes arrive on the storage.
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

    /// Removes the copies of one writer except the last three. Copies of other writers stay.
    ///
    /// - Throws: `StorageError`.
    func prune(_ databaseID: String, of writer: String) async throws {
        for copy in try await list(of: databaseID).filter({ $0.writer == writer }).dropLast(Self.kept) {
            try await storage.delete(copy.key, abandoning: nil)
        }
    }

    /// Downloads a copy into a file.
    ///
    /// - Throws: `StorageError`, and errors of writing.
    func fetch(_ copy: Copy, to file: URL) async throws {
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw UploaderError("\(file.path) cannot be created: \(String(cString: strerror(errno)))") }
        // The handle is closed with the closure that holds it.
        let handle = try FileHandle(forWritingTo: file)
        let arrived = Mutex(Int64(0))
        _ = try await storage.download(
            DownloadRequest(copy.key),
            into: DownloadSink { bytes in
                // Accepts at most the number of bytes in the listing.
                let count = arrived.withLock { count in
                    count += Int64(bytes.count)
                    return count
                }
                guard count <= copy.byteCount else {
                    throw UploaderError("The copy \(copy.key) is longer than the storage says.")
                }
                guard systemWriteAll(handle.fileDescriptor, bytes: bytes) else {
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
