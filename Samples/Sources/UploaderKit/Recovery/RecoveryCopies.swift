import Crypto
import Foundation
import LFSStorage
import Synchronization

/// Copies of databases on the storage that has their files: without one nobody knows which object is which file.
///
/// A copy is the object `lfs-recovery/<database id>/<time>.sqlite.gz`: the whole SQLite database, compressed in gzip's
/// format. The id is the 32 hex digits that the keys of the database's files begin with, and the time is in UTC, as in
/// `20261125t143000z`. The names of all files stand in it in the clear.
struct RecoveryCopies: Sendable {
    /// How many of a database are kept.
    static let kept = 3
    private static let folder = "lfs-recovery"
    private static let ending = ".sqlite.gz"

    let storage: any RemoteStorage

    struct Copy: Sendable {
        let key: ObjectKey
        let databaseID: String
        let date: Date
        let byteCount: Int64

        /// The time as people write it.
        var saved: String { date.formatted(.iso8601) }
    }

    /// Those of a database, or all; the oldest first. Other objects in the folder are passed over.
    ///
    /// - Throws: `StorageError`.
    func list(of databaseID: String? = nil) async throws -> [Copy] {
        var request = ListRequest(prefix: "\(Self.folder)/\(databaseID.map { "\($0)/" } ?? "")")
        var copies: [Copy] = []
        repeat {
            let page = try await storage.list(request)
            copies += page.objects.compactMap(Self.copy)
            request.continuation = page.next
        } while request.continuation != nil
        return copies.sorted { ($0.date, $0.key.rawValue) < ($1.date, $1.key.rawValue) }
    }

    /// Stores a file as the newest copy.
    ///
    /// - Parameters:
    ///   - date: when the database was read. The name is later than all others, whatever the clock says.
    ///   - onBytes: runs as bytes arrive there.
    /// - Throws: `StorageError`, ``UploaderError``.
    func store(
        _ file: URL, of databaseID: String, at date: Date, onBytes: @escaping @Sendable () -> Void
    ) async throws {
        let (byteCount, hash) = try Self.measure(file)
        let last = try await list(of: databaseID).last?.date
        let name = Self.name(of: max(date, last.map { $0.addingTimeInterval(1) } ?? date))
        let key = try ObjectKey("\(Self.folder)/\(databaseID)/\(name)\(Self.ending)")
        let source = try UploadSource(file: file, byteCount: byteCount, sha256: hash, contentType: "application/gzip")
        _ = try await storage.upload(source, to: key, session: UploadSession(onProgress: { _ in onBytes() }))
    }

    /// Removes those before the last three.
    ///
    /// - Throws: `StorageError`.
    func prune(_ databaseID: String) async throws {
        for copy in try await list(of: databaseID).dropLast(Self.kept) {
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
        guard parts.count == 3, parts[2].hasSuffix(ending), parts[1].count == 32,
            parts[1].allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let date = try? Date(parts[2].dropLast(ending.count).uppercased(), strategy: format),
            // Others than those that are written here are none of ours.
            name(of: date) + ending == parts[2]
        else { return nil }
        return Copy(key: object.key, databaseID: String(parts[1]), date: date, byteCount: object.byteCount)
    }

    static func name(of date: Date) -> String { date.formatted(format).lowercased() }

    private static var format: Date.ISO8601FormatStyle {
        .iso8601.year().month().day().dateSeparator(.omitted).time(includingFractionalSeconds: false)
            .timeSeparator(.omitted).timeZone(separator: .omitted)
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
