import Foundation
import GRDB

/// The SQLite file of a stopped server, from which a store is copied. While the source exists, nothing else can use the
/// file.
struct SQLiteSource: Sendable {
    private let queue: DatabaseQueue

    /// Opens the file and locks it. Its content does not change.
    ///
    /// - Throws: ``SyncStoreError`` if the file is open elsewhere or damaged, ``SQLFailure``.
    init(path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw SQLFailure(.unusable, message: "There is no database \(path).")
        }
        var configuration = Configuration()
        configuration.label = "lfs-move"
        configuration.prepareDatabase { db in
            // A server holds a shared lock of its file. In this mode, the first read takes an exclusive lock, and keeps
            // it until the connection is closed (https://sqlite.org/pragma.html#pragma_locking_mode). This needs a
            // connection that may write.
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON")
        }
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw SyncStoreError(.inUse, details: ["Another program uses the database \(path)."])
        } catch {
            throw Self.converted(error)
        }
    }

    /// Reads from the file. The call blocks.
    func read<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
        do {
            return try queue.read { try body(SQLiteConnection($0)) }
        } catch {
            throw Self.converted(error)
        }
    }

    /// Reads the whole file, and checks that it is not damaged.
    ///
    /// - Throws: ``SyncStoreError``, ``SQLFailure``.
    func check() async throws {
        do {
            let result = try await queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
            guard result == "ok" else { throw Self.damage(result ?? "It has no pages.") }
        } catch {
            throw Self.converted(error)
        }
    }

    private static func converted(_ error: any Error) -> any Error {
        guard let found = error as? DatabaseError, [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(found.resultCode) else {
            return SQLFailure.converted(error)
        }
        return damage(SQLFailure(sqlite: found).message)
    }

    private static func damage(_ message: String) -> SyncStoreError {
        SyncStoreError(.damaged, details: ["The file is damaged. SQLite reports: \(message)."])
    }
}
