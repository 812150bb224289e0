package import LFSSystem

/// The owner of the files in a staging area: a database and one of its local stores.
package struct StagingOwner: Sendable {
    package let databaseID: String
    /// The folder of the local store. A copied database has the same id, but another folder.
    let store: FolderIdentity
    /// The setter of the protection class of its areas.
    let protector: FileProtector?

    package init(of store: LocalStore) throws(SystemError) {
        databaseID = store.marker.databaseID
        self.store = FolderIdentity(try store.directory.status())
        protector = store.protector
    }
}

/// The content of `staging.json`, the marker of a staging area.
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
