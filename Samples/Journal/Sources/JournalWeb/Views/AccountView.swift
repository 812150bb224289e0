import LFSSettings

/// The account of the journal, and the removals that a page offers.
struct AccountView: Sendable {
    let server: String
    let endpoint: String?
    let user: String
    let hasAccount: Bool
    /// Indicates that a page can remove the journal from this device.
    let canRemove: Bool
    /// The number of pictures that a removal would lose.
    let lost: Int
    /// The loss as a sentence; nil if all pictures are on the storage.
    let loss: String?

    init(_ settings: StorageRouter, lost: Int, canRemove: Bool) async throws {
        let server = try await settings.getIfPresent(.accountServerURL)
        self.server = server ?? ""
        endpoint = try await settings.getIfPresent(.accountEndpoint)
        user = try await settings.getIfPresent(.accountUser) ?? "not known yet"
        hasAccount = server != nil
        self.canRemove = canRemove
        self.lost = lost
        let pictures = Words.count(lost, one: "picture is", more: "pictures are")
        loss = lost == 0 ? nil : "\(pictures) not on the storage and will be lost for good."
    }
}
