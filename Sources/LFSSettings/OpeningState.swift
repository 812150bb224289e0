import GRDB

/// What the database says to one who opens a router, in one look.
struct OpeningState: Sendable {
    let state: SettingsStateTable.State
    /// Of the database's file; empty for one in memory.
    let databasePath: String
    /// By the names of the catalogs.
    let versions: [String: CatalogTable.Versions]
    /// Folders that have been in use, as they are noted.
    let folders: Set<String>
    let keys: KeyRing.Found

    init(_ db: Database) throws {
        state = try SettingsStateTable.read(db)
        databasePath = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'") ?? ""
        versions = try CatalogTable.versions(db)
        folders = Set(try FolderTable.all(db))
        keys = try KeyRing.Found(state, db)
    }
}
