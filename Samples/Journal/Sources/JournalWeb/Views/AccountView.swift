import LFSSettings

/// The account of the journal, and the removals that a page offers.
struct AccountView: Sendable {
    /// The server. Nil without an account.
    let server: String?
    let endpoint: String?
    let user: String
    /// Indicates that a page can remove the journal from this device.
    let canRemove: Bool
    /// The number of pictures that a removal would lose.
    let lost: Int
    /// The loss as a sentence. Nil if all pictures are on the storage.
    let loss: String?

    init(_ snapshot: SettingsSnapshot, lost: Int, canRemove: Bool) {
        server = Self.text(.accountServerURL, of: snapshot)
        endpoint = Self.text(.accountEndpoint, of: snapshot)
        user = Self.text(.accountUser, of: snapshot) ?? "not known yet"
        self.canRemove = canRemove
        self.lost = lost
        let pictures = Words.count(lost, one: "picture is", more: "pictures are")
        loss = lost == 0 ? nil : "\(pictures) not on the storage and will be lost for good."
    }

    /// Returns the value, a sentence for one that cannot be read, or nil without one. A login replaces such a value.
    private static func text(_ key: StorageKey<String>, of snapshot: SettingsSnapshot) -> String? {
        do {
            return try snapshot.getIfPresent(key)
        } catch {
            return "It cannot be read. Log in again."
        }
    }
}
