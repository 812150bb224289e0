public import Foundation
import LFSSystem

/// A session, as lists show it: nothing of its token.
public struct SyncSessionInfo: Sendable, Hashable {
    public let id: String
    /// The account's name.
    public let account: String
    /// What the session was called when it was made.
    public let device: String
    public let createdAt: Date
    /// Of its last stream, to a day.
    public let seenAt: Date
    /// nil for one that lasts until it is revoked.
    public let expiresAt: Date?
}

/// Times as the tables have them: milliseconds since 1970.
enum Milliseconds {
    static let day: Int64 = 86_400_000

    static func of(_ date: Date) -> Int64 { date.millisecondsSince1970 }

    static func of(_ duration: Duration) -> Int64 { duration.milliseconds }

    static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
