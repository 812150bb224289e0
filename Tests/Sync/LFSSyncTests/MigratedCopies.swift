import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import TestSupport

@testable import LFSSync
@testable import LFSSyncServer

/// Copies of the migrated databases of a server and a device, so that thousands of runs share one migration.
enum MigratedCopies {
    /// Returns a device's database in memory with its own identity.
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

    /// Makes a server's database with its own history at an unused path.
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
            // Closing the database moves its log into the file.
            await database.close()
            return try Data(contentsOf: file)
        }
    }
}
