import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import TestSupport

@testable import LFSSync
@testable import LFSSyncServer

/// Copies of a server's and of a device's database as their migrations leave them: thousands of runs need the
/// migrations once.
enum MigratedCopies {
    /// A device's, in memory, with an identity of its own.
    static func device() throws -> DatabaseQueue {
        let copy = try DatabaseQueue()
        try template.get().backup(to: copy)
        let id = FileID.make()
        try copy.write { db in
            try db.execute(
                sql: "UPDATE lfs_state SET databaseID = ?, namespace = ?",
                arguments: [id, Namespace(ofDatabase: id.text).text])
        }
        return copy
    }

    private static let template = Result {
        let database = try DatabaseQueue()
        try TestSync.migrate(database, TestSync.recipes)
        return database
    }

    /// A server's, at a path where there is none, with a history of its own.
    static func server(at path: String) async throws -> SQLiteDatabase {
        try await serverFile.value.write(to: URL(fileURLWithPath: path))
        let database = try SQLiteDatabase(path: path)
        try await database.write { try SchemaTable.renewHistory($0) }
        return database
    }

    private static let serverFile = Task {
        try await withTemporaryFolder { folder in
            let file = folder.appending(path: "server.sqlite")
            let database = try SQLiteDatabase(path: file.path)
            try await SyncStore(database, schema: TestSync.schema).migrate()
            // What its log has is in the file afterwards.
            await database.close()
            return try Data(contentsOf: file)
        }
    }
}
