/// A row that may need attention.
public struct SyncProblem: Sendable, Hashable {
    /// The reasons why a row may need attention.
    public enum Kind: Sendable, Hashable {
        /// A local change that the server has refused permanently.
        case refused
        /// A received row that cannot be applied yet. Each sync tries it again.
        case parked
        /// A local change that waits because the server lacks a column or table, or because the account has no room for
        /// it. It is sent once the reason no longer applies.
        case waiting
    }

    /// The reason.
    public let kind: Kind
    /// The row's table.
    public let table: String
    /// The row's id.
    public let id: String
    /// The reason, as reported by the server or this database.
    public let reason: String
}
