import Crypto
import Foundation
public import GRDB
public import LFSStorage
import LFSTesting
import Testing

// snippet
@Suite("The storage of rows follows the rules of RemoteStorage")
struct RowStorageTests {
    @Test(arguments: StorageConformance.checks)
    func conforms(_ check: StorageCheck) async throws {
        try await check.run(against: try RowStorage(DatabaseQueue()))
    }
}
// end

// snippet
/// A storage that keeps each object as a row of a SQLite database.
public struct RowStorage: Sendable {
    let database: DatabaseQueue

    public init(_ database: DatabaseQueue) throws {
        self.database = database
        try database.write { db in
            try db.execute(
                sql: "CREATE TABLE IF NOT EXISTS object (key TEXT PRIMARY KEY, tag TEXT NOT NULL, bytes BLOB NOT NULL)")
        }
    }

    /// Runs a transaction. Every error that leaves it is a `StorageError`.
    private func transaction<Value: Sendable>(
        _ key: ObjectKey?, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await database.write(body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            throw StorageError(.noSpace, message: "The disk of the database is full.", key: key, cause: error)
        } catch {
            throw StorageError(wrapping: error, key: key)
        }
    }

    private func describe(
        _ key: ObjectKey, byteCount: Int64, tag: String, sha256: String? = nil
    ) -> RemoteObject {
        let url = URL(fileURLWithPath: database.path).appendingPathComponent(key.rawValue)
        return RemoteObject(key: key, byteCount: byteCount, sha256: sha256, entityTag: tag, url: url)
    }
}
// end

// snippet
extension RowStorage {
    public func upload(
        _ source: UploadSource, to key: ObjectKey, session: UploadSession
    ) async throws -> RemoteObject {
        let bytes = try read(source, key: key, session: session)
        let sha256 = Self.sha256(bytes)
        guard Int64(bytes.count) == source.byteCount, sha256 == source.sha256 else {
            throw StorageError(.sourceChanged, message: "The local bytes are not the recorded ones.", key: key)
        }
        let stored = try await transaction(key) { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO object VALUES (?, ?, ?)", arguments: [key.rawValue, sha256, bytes])
            let stored = try Data.fetchOne(db, sql: "SELECT bytes FROM object WHERE key = ?", arguments: [key.rawValue])
            // An error rolls the transaction back, so the former object stays.
            guard let stored, stored == bytes else {
                throw StorageError(.integrity, message: "The database has stored other bytes.", key: key)
            }
            return stored
        }
        return describe(key, byteCount: Int64(stored.count), tag: sha256, sha256: Self.sha256(stored))
    }

    private func read(_ source: UploadSource, key: ObjectKey, session: UploadSession) throws -> Data {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 256 * 1_024)
        while Int64(bytes.count) < source.byteCount {
            if Task.isCancelled { throw StorageError(wrapping: CancellationError(), key: key) }
            let wanted = min(buffer.count, Int(source.byteCount) - bytes.count)
            let count = try buffer.withUnsafeMutableBytes { buffer in
                try source.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: Int64(bytes.count))
            }
            // The file is shorter than its description. The comparison of the size reports it.
            if count == 0 { break }
            bytes.append(contentsOf: buffer[..<count])
            session.report(bytesTransferred: Int64(bytes.count))
        }
        return bytes
    }

    private static func sha256(_ bytes: Data) -> String {
        SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
    }
}
// end

// snippet
extension RowStorage {
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let key = request.key
        let (tag, bytes) = try await transaction(key) { db in
            let sql = "SELECT tag, bytes FROM object WHERE key = ?"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [key.rawValue]) else { throw Self.missing(key) }
            return (row[0] as String, row[1] as Data)
        }
        if let wanted = request.entityTag, wanted != tag {
            throw StorageError(.changed, message: "The object was replaced while it was read.", key: key)
        }
        sink.begin(entityTag: tag)
        let object = describe(key, byteCount: Int64(bytes.count), tag: tag)
        let range = (request.range ?? 0..<object.byteCount).clamped(to: 0..<object.byteCount)
        var rest = bytes.dropFirst(Int(range.lowerBound)).prefix(range.count)
        while !rest.isEmpty {
            if Task.isCancelled { throw StorageError(wrapping: CancellationError(), key: key) }
            let piece = rest.prefix(256 * 1_024)
            // Outside of the transaction: an error of the sink must stay as it is.
            try piece.withUnsafeBytes { try sink.write($0) }
            rest = rest.dropFirst(piece.count)
        }
        return object
    }

    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        let (tag, byteCount) = try await transaction(key) { db in
            let sql = "SELECT tag, length(bytes) FROM object WHERE key = ?"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [key.rawValue]) else { throw Self.missing(key) }
            return (row[0] as String, row[1] as Int64)
        }
        return describe(key, byteCount: byteCount, tag: tag)
    }

    private static func missing(_ key: ObjectKey) -> StorageError {
        StorageError(.missing, message: "There is no object '\(key)' in the database.", key: key)
    }
}
// end

// snippet
extension RowStorage: RemoteStorage {
    public var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "rows", location: "rows:\(database.path)", proof: .checksum)
    }

    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await transaction(key) { db in
            try db.execute(sql: "DELETE FROM object WHERE key = ?", arguments: [key.rawValue])
        }
    }

    public func list(_ request: ListRequest) async throws -> ListPage {
        let objects = try await transaction(nil) { db in
            let sql = """
                SELECT key, length(bytes), tag FROM object
                WHERE substr(key, 1, ?) = ? AND key > ? ORDER BY key LIMIT ?
                """
            let arguments: StatementArguments = [
                request.prefix.unicodeScalars.count, request.prefix, request.continuation ?? "", request.limit,
            ]
            return try Row.fetchAll(db, sql: sql, arguments: arguments).map { row in
                describe(try ObjectKey(row[0] as String), byteCount: row[1], tag: row[2])
            }
        }
        // A full page may be the last one. The next page is then empty.
        return ListPage(objects: objects, next: objects.count == request.limit ? objects.last?.key.rawValue : nil)
    }
}
// end
