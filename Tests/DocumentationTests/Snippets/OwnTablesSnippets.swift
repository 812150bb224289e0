import Foundation
import GRDB
import LFS
import LFSSync

struct OwnTables {
    // snippet
    func openPhotos(_ path: String) throws -> DatabasePool {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("photos") { db in
            try db.create(table: "photo") { table in
                table.primaryKey("id", .text)
                table.column("takenAt", .integer).notNull()
                table.column("fileID", .text).notNull().references("lfs_file", onDelete: .cascade)
            }
            try db.create(table: "album") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
            }
            try db.create(table: "album_user") { table in
                table.primaryKey("id", .text)
                table.column("albumID", .text).notNull().indexed().references("album", onDelete: .cascade)
                table.column("accountID", .text).notNull()
                table.column("role", .text).notNull()
            }
            try db.create(table: "album_file") { table in
                table.primaryKey("id", .text)
                table.column("albumID", .text).notNull().indexed().references("album", onDelete: .cascade)
                table.column("fileID", .text).notNull().indexed().references("lfs_file", onDelete: .cascade)
                table.column("position", .integer).notNull()
            }
            try db.create(table: "partner") { table in
                table.primaryKey("id", .text)
                table.column("sharedByID", .text).notNull()
                table.column("sharedWithID", .text).notNull()
            }
            try db.create(table: "user") { table in
                table.primaryKey("id", .text)
                table.column("name", .text).notNull()
                table.column("picture", .blob)
            }
            // A photo owns its file; an album shows it.
            try FileData.deletedWithOwner("photo", column: "fileID", in: db)
            for table in ["photo", "album", "album_user", "album_file", "partner", "user"] {
                try SyncedTable.install(table, in: db)
            }
        }
        let database = try DatabasePool(path: path)
        try migrator.migrate(database)
        return database
    }
    // end

    // snippet
    func addPhoto(_ data: Data, to album: String, lfs: LFSManager, database: DatabasePool) async throws {
        try await lfs.withFile(from: .bytes(data)) { file in
            try await database.write { db in
                try file.insert(db)
                let id = "\(file.id)"
                try db.execute(
                    sql: "INSERT INTO photo (id, takenAt, fileID) VALUES (?, ?, ?)",
                    arguments: [UUID().uuidString, Int(Date().timeIntervalSince1970), id])
                // Two devices that put one file into one album make one row, and equal positions are allowed.
                let sql = """
                    INSERT INTO album_file (id, albumID, fileID, position)
                    SELECT ?1 || '_' || ?2, ?1, ?2, ifnull(max(position), -1) + 1 FROM album_file WHERE albumID = ?1
                    """
                try db.execute(sql: sql, arguments: [album, id])
            }
        }
    }
    // end

    // snippet
    func photos(of album: String, _ database: DatabasePool) async throws -> [FileData] {
        let sql = """
            SELECT lfs_file.* FROM album_file JOIN lfs_file ON lfs_file.id = album_file.fileID
            WHERE albumID = ? ORDER BY position, album_file.id
            """
        return try await database.read { db in try FileData.fetchAll(db, sql: sql, arguments: [album]) }
    }
    // end

    // snippet
    func share(_ album: String, with name: String, sync: SyncClient, database: DatabasePool) async throws {
        guard let account = try await sync.account(named: name) else { throw NoSuchAccount(name: name) }
        try await database.write { db in
            try db.execute(
                sql: "INSERT INTO album_user (id, albumID, accountID, role) VALUES (?1 || '_' || ?2, ?1, ?2, 'viewer')",
                arguments: [album, account])
        }
    }

    func letReadAll(_ name: String, sync: SyncClient, database: DatabasePool) async throws {
        guard let account = try await sync.account(named: name) else { throw NoSuchAccount(name: name) }
        // Known since the first synchronization.
        guard let own = try await sync.ownAccount() else { throw NoSuchAccount(name: "own") }
        try await database.write { db in
            try db.execute(
                sql: "INSERT INTO partner (id, sharedByID, sharedWithID) VALUES (?1 || '_' || ?2, ?1, ?2)",
                arguments: [own, account])
        }
    }

    struct NoSuchAccount: Error { let name: String }
    // end

    // snippet
    func albums(_ database: DatabasePool) async throws -> [(title: String, isForeign: Bool)] {
        try await database.read { db in
            try Row.fetchAll(db, sql: "SELECT id, title FROM album ORDER BY title, id").map { row in
                (row["title"], try SyncedTable.isForeign(row["id"], in: "album", db))
            }
        }
    }
    // end

    // snippet
    func members(of album: String, _ database: DatabasePool) async throws -> [String] {
        let sql = """
            SELECT user.name FROM album_user JOIN user ON user.id = album_user.accountID
            WHERE albumID = ? ORDER BY user.name, user.id
            """
        return try await database.read { db in try String.fetchAll(db, sql: sql, arguments: [album]) }
    }

    func changeName(to name: String, sync: SyncClient, database: DatabasePool) async throws {
        guard let own = try await sync.ownAccount() else { throw NoSuchAccount(name: "own") }
        try await database.write { db in
            try db.execute(sql: "UPDATE user SET name = ? WHERE id = ?", arguments: [name, own])
        }
    }
    // end

    // snippet
    func showSync(_ sync: SyncClient, _ show: @escaping @Sendable (String) -> Void) async throws {
        do {
            try await sync.run { report in
                show("\(report.pending) wait, \(report.parked) parked, \(report.rejected) refused")
            } onOutage: { error in
                show("Changes are sent later. \(error.message)")
            }
        } catch let error as SyncError where error.code == .unauthorized {
            show("Sign in again.")
        }
    }

    func problems(_ database: DatabasePool) async throws -> [String] {
        try await database.read { db in try SyncProblem.fetch(db).map { "\($0.table): \($0.reason)" } }
    }
    // end

    // snippet
    func addFavorites(_ database: DatabasePool) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("favorites") { db in
            try db.alter(table: "photo") { table in
                table.add(column: "isFavorite", .boolean).notNull().defaults(to: false)
            }
            try SyncedTable.install("photo", version: 2, in: db)
            // Values that the migration writes after the install are sent like all other changes.
        }
        try migrator.migrate(database)
    }
    // end
}
