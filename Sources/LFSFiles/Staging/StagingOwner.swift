package import LFSSystem

/// Whose the files in a staging area are: a database's, and of one of its copies.
package struct StagingOwner: Hashable, Sendable {
    package let databaseID: String
    /// The folder of the local store. A copied database has the same id, and another folder.
    let store: FolderIdentity

    package init(of store: LocalStore) throws(SystemError) {
        databaseID = store.marker.databaseID
        self.store = FolderIdentity(try store.directory.status())
    }
}

/// The file `staging.json` of a staging area.
struct StagingMarker: Codable, Sendable {
    static let file = MarkerFile<StagingMarker>("staging.json")
    static let lockName = "staging.lock"
    static let currentLayout = 1

    let databaseID: String
    let layout: Int
    let store: FolderIdentity

    init(_ owner: StagingOwner) {
        databaseID = owner.databaseID
        layout = Self.currentLayout
        store = owner.store
    }
}
