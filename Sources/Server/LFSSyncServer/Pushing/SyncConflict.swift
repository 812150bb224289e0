public import Foundation

/// A policy for changes of rows that have changed since the device received them. A change of any column counts, and so
/// does adding the row to a shared container again. Changes by the same device do not count.
///
/// Devices that send no base version are treated as with ``lastWriterWins``. A deleted row stays deleted with every
/// policy, and a change of it is refused.
public enum SyncConflictPolicy: Sendable {
    /// Later changes win, column by column, and so does a deletion.
    case lastWriterWins
    /// The change or the deletion is refused. The device receives the server's row, and keeps the refused change with
    /// the code `stale`.
    case rejectStale
    /// The closure returns the values to store. A deletion wins without a call. The closure runs within the
    /// transaction, and more than once if transactions conflict. It must be fast and have no side effects. An error
    /// refuses the change, and a ``SyncRefusal`` gives the reason.
    ///
    /// Columns that it omits keep the server's values. If nothing changes, the device's change is refused.
    case resolve(@Sendable (SyncConflict) throws -> [String: SQLValue])

    var isCareful: Bool {
        if case .lastWriterWins = self { return false }
        return true
    }
}

/// The server's version of a row, and the version of a device that had not received it.
public struct SyncConflict: Sendable, Hashable {
    /// The name of the row's table, as on the devices.
    public let table: String
    /// The row's id.
    public let key: String
    /// All columns with the server's values.
    public let server: [String: SQLValue]
    /// All columns with the device's changes.
    public let device: [String: SQLValue]
    /// The columns in which the two versions differ.
    public let changed: Set<String>
}

/// A reason for refusing a change, written for the person who made it.
public struct SyncRefusal: LocalizedError, Sendable, Hashable {
    /// The reason. Devices receive at most 1,000 characters of it.
    package let message: String

    /// Creates a refusal with its reason.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var errorDescription: String? { message }
}
