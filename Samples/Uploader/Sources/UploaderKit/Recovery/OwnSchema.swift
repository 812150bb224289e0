import GRDB

/// The triggers and views of the uploader's schema, for a database that another person may have changed.
enum OwnSchema {
    /// Migrates a database, removes triggers and views that are not part of the uploader's schema, and restores the
    /// original text of the others.
    ///
    /// - Throws: the database's error.
    static func restore(_ database: DatabaseQueue) throws {
        let isSynced = try database.read { db in try db.tableExists("lfs_sync_outbox") }
        let migrator = isSynced ? DocumentSchema.syncMigrator : DocumentSchema.migrator
        let model = try DatabaseQueue()
        try migrator.migrate(model)
        let own = try model.read(objects)
        try model.close()
        // The migrations would run foreign triggers, so these are removed first.
        try database.write { db in
            for (name, object) in try objects(db) where own[name]?.type != object.type {
                try drop(name, object: object, db)
            }
        }
        try migrator.migrate(database)
        try database.write { db in
            let found = try objects(db)
            for (name, object) in own where found[name] != object {
                if let changed = found[name] { try drop(name, object: changed, db) }
                try db.execute(sql: object.sql)
            }
        }
    }

    private struct Object: Equatable {
        let type: String
        let sql: String
    }

    /// Returns the triggers and views by their names.
    private static func objects(_ db: Database) throws -> [String: Object] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT name, type, sql FROM sqlite_master WHERE type IN ('trigger', 'view') AND sql IS NOT NULL")
        var objects: [String: Object] = [:]
        for row in rows {
            guard let name = String.fromDatabaseValue(row[0]), let type = String.fromDatabaseValue(row[1]),
                let sql = String.fromDatabaseValue(row[2])
            else { throw UploaderError("The copy has a trigger without a usable name.") }
            objects[name] = Object(type: type, sql: sql)
        }
        return objects
    }

    /// Drops a trigger or a view. A trigger of a view may already be dropped together with the view.
    private static func drop(_ name: String, object: Object, _ db: Database) throws {
        try db.execute(sql: "DROP \(object.type) IF EXISTS \(name.quotedDatabaseIdentifier)")
    }
}
