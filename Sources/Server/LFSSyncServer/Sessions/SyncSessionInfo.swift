public import Foundation

/// A session as shown in lists, without its token.
public struct SyncSessionInfo: Sendable, Hashable {
    /// The id of the session, by which an operator revokes it.
    public let id: String
    /// The account's name.
    public let account: String
    /// The name that the session got when it was created.
    public let device: String
    /// The time when the session was created.
    public let createdAt: Date
    /// The time of the last stream, accurate to a day.
    public let seenAt: Date
    /// The time at which the session expires unless it is used, or nil if it lasts until it is revoked.
    public let expiresAt: Date?
    /// The requests that the session permits.
    public internal(set) var rights = SyncSessionRights()
    /// The contacts of the device by the types of rows that it receives, sorted by type.
    public internal(set) var contacts: [Contact] = []

    /// The times at which a device received rows of one type, in all scopes together.
    public struct Contact: Sendable, Hashable {
        /// The type and version of the rows, such as `RecipeV2`.
        public let type: String
        /// The time of the first stream with the type. Nil if an earlier version of the server has not recorded it.
        public let firstAt: Date?
        /// The time when the device last acknowledged new rows of the type, or started over. Nil if it has not done so
        /// since an earlier version of the server.
        public let lastAt: Date?
    }
}
