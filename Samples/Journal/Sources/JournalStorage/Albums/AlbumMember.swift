public import Foundation

/// Somebody whom an album is shared with.
public struct AlbumMember: Hashable, Sendable, Identifiable {
    /// What a member may do.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        /// Sees the album and its pictures.
        case viewer
        /// Puts own pictures into it besides, and takes pictures out.
        case editor
    }

    /// The album's id and the account's: two devices that share an album with somebody make one row.
    public var id: String { "\(albumID.uuidString.lowercased())_\(accountID)" }
    /// What is shared.
    public let albumID: UUID
    /// What the sync server calls the account.
    public let accountID: String
    /// What it may do. What a newer version writes counts as a viewer here, as it does on the server.
    public var role: Role
    /// What whoever has shared the album knows the account by.
    public var name: String

    /// A member of an album.
    ///
    /// - Parameters:
    ///   - albumID: the album.
    ///   - accountID: as the sync server calls the account.
    ///   - role: what it may do.
    ///   - name: what the owner knows it by.
    public init(albumID: UUID, accountID: String, role: Role = .viewer, name: String) {
        (self.albumID, self.accountID, self.role, self.name) = (albumID, accountID, role, name)
    }
}
