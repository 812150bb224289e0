public import Foundation

/// An account as shown in lists.
public struct SyncAccountInfo: Sendable, Hashable {
    /// The id of the account, to which rows refer.
    public let id: String
    /// The account's name.
    public let name: String
    /// The storage that the account uses.
    public let usage: AccountUsage
    /// The limits that the account has instead of those of the server.
    public let limits: [AccountLimit: Int64]
    /// The number of sessions.
    public let sessionCount: Int
    /// The time of the last stream of a session that still exists, accurate to a day. Nil without sessions.
    public let lastContactAt: Date?
}
