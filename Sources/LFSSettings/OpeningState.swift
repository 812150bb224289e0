import GRDB
import LFSDatabase

/// What the database says to one who begins to open a router, in one look. It may be old by the time that it is used.
struct OpeningState: Sendable {
    let state: SettingsStateTable.State
    /// Of the database's file; empty for one in memory.
    let databasePath: String
    /// By the names of the catalogs.
    let versions: [String: CatalogTable.Versions]
    /// Folders that have been in use, as they are noted.
    private let folders: Result<[String], any Error>
    private let keyNotes: Result<KeyRing.Found, any Error>?

    /// - Parameter keys: those that will be used.
    init(_ keys: [KeyInfo], _ db: Database) throws {
        let state = try SettingsStateTable.read(db)
        self.state = state
        databasePath = try db.mainPath()
        versions = try CatalogTable.versions(db)
        // Damage there concerns those alone who need them.
        folders = Result { try FolderTable.all(db) }
        let hasSecrets = keys.contains { $0.security != .none }
        keyNotes = hasSecrets ? Result { try KeyRing.Found(state, db) } : nil
    }

    /// Whether a folder has been in use. Names are compared byte by byte, as file systems do.
    ///
    /// - Throws: the database's error.
    func isNoted(_ notes: FolderNotes) throws -> Bool {
        try folders.get().contains {
            $0.utf8.elementsEqual(notes.folder.utf8) || $0.utf8.elementsEqual(notes.path.utf8)
        }
    }

    /// What there is of data keys; nil where no key needs them.
    ///
    /// - Throws: the database's error.
    func keys() throws -> KeyRing.Found? { try keyNotes?.get() }
}
