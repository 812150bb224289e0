import Foundation
import GRDB
import LFS
import LFSSync
import LFSSyncServer

struct Syncing {
    // snippet
    func openRecipes(_ path: String) throws -> DatabasePool {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("recipes") { db in
            try db.create(table: "recipe") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
                table.column("photoId", .text).references("lfs_file", onDelete: .setNull)
            }
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)  // keeps the file while a recipe has it
            try SyncedTable.install("recipe", in: db)
        }
        let database = try DatabasePool(path: path)
        try migrator.migrate(database)
        return database
    }
    // end

    // snippet
    func share(_ database: DatabasePool, server: URL, token: String) async throws {
        let sync = try await SyncClient.open(database, options: SyncOptions(server: server) { token })
        let report = try await sync.synchronize()  // once
        print("\(report.sent) sent, \(report.received) received, \(report.pending) wait")
        // Runs until the task is cancelled. Local changes are pushed at once, and changes of other devices
        // arrive within a second.
        try await sync.run { report in print("\(report.received) received") }
    }
    // end

    // snippet
    func makeSyncService(_ path: String) async throws -> SyncService {
        let schema = SyncSchema(tables: [
            .init(
                "recipe",
                columns: [
                    .init("title", kind: .text, isRequired: true),
                    .init("photoId", kind: .text, parent: .init("lfs_file", onDelete: .setNull)),
                ])
        ])
        return try await SyncService(SQLiteDatabase(path: path), schema: schema)
    }
    // end
}
