import GRDB
import LFSDatabase

/// The content of the database that opening a router needs, read at once. Other processes may change it afterwards.
struct OpeningState: Sendable {
    let state: SettingsStateTable.State
    /// The path of the database file, or empty for a database in memory.
    let databasePath: String
    /// The versions of the data, by the names of the catalogs.
    let versions: [String: CatalogTable.Versions]
    /// The recorded folders that were used before.
    private let folders: Result<[String], any Error>
    private let keyNotes: Result<KeyRing.Found, any Error>?

    /// - Parameter keys: the keys that will be used.
    init(_ keys: [KeyInfo], _ db: Database) throws {
        let state = try SettingsStateTable.read(db)
        self.state = state
        databasePath = try db.mainPath()
        versions = try CatalogTable.versions(db)
        // Damage in this table affects only the keys that need it.
        folders = Result { try FolderTable.all(db) }
        let hasSecrets = keys.contains { $0.security != .none }
        keyNotes = hasSecrets ? Result { try KeyRing.Found(state, db) } : nil
    }

    /// Returns true if a folder was used before. Names are compared byte by byte, as file systems do.
    ///
    /// - Throws: the database's error.
    func isNoted(_ notes: FolderNotes) throws -> Bool {
        try folders.get().contains {
            $0.utf8.elementsEqual(notes.folder.utf8) || $0.utf8.elementsEqual(notes.path.utf8)
        }
    }

    /// Returns the stored data keys, or nil if no key needs them.
    ///
    /// - Throws: the database's error.
    func keys() throws -> KeyRing.Found? { try keyNotes?.get() }
}
