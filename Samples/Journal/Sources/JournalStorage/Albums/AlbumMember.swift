public import Foundation

/// An account that an album is shared with.
public struct AlbumMember: Hashable, Sendable, Identifiable {
    /// The permissions of a member.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        /// A member that sees the album and its pictures.
        case viewer
        /// A member that also adds its own pictures and removes pictures.
        case editor
    }

    /// The album's id and the account's id: two devices that share an album with the same account create the same row.
    public var id: String { "\(albumID.uuidString.lowercased())_\(accountID)" }
    /// The id of the shared album.
    public let albumID: UUID
    /// The account's id on the sync server.
    public let accountID: String
    /// The member's permissions. A role that only a newer version knows is read as a viewer, as on the server.
    public var role: Role
    /// The account's own name, or the one that the owner of the album has entered if the server sends none.
    public var name: String

    /// Creates a member of an album.
    public init(albumID: UUID, accountID: String, role: Role = .viewer, name: String) {
        self.albumID = albumID
        self.accountID = accountID
        self.role = role
        self.name = name
    }
}
