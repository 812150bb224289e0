/// A row about which somebody may have to do something.
public struct SyncProblem: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// A change of this device that the server has refused, for good.
        case refused
        /// A row that has come and cannot be applied yet: it is tried again with every sync.
        case parked
        /// A change of this device that waits, since the server lacks a column or a table: it is sent once it has it.
        case waiting
    }

    public let kind: Kind
    /// The row's table.
    public let table: String
    /// The row's id.
    public let id: String
    /// Why, as the server or this database has said it.
    public let reason: String
}
