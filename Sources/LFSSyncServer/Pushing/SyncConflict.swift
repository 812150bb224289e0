public import Foundation

/// What becomes of a change of a row that has changed since the device saw it. Any column counts, and so does being put
/// into a shared container anew; changes by the same device do not.
///
/// Devices that do not say what they had seen are treated as with ``lastWriterWins``. What is deleted is gone with
/// every policy: a change of it is refused.
public enum SyncConflictPolicy: Sendable {
    /// The changes that arrive later win, column by column, and so does a deletion.
    case lastWriterWins
    /// The change or the deletion is refused. The device gets the server's row, and keeps what was refused with the
    /// code `stale`.
    case rejectStale
    /// The closure answers which values are stored; a deletion wins without being asked about. It runs within the
    /// transaction, and more than once where transactions stand in each other's way: it has to be quick, and to do
    /// nothing else. What it throws refuses the change; a ``SyncRefusal`` says why.
    ///
    /// Columns that it leaves out stay as the server has them. Where that is all of them the change is refused.
    case resolve(@Sendable (SyncConflict) throws -> [String: SQLValue])

    var isCareful: Bool {
        if case .lastWriterWins = self { return false }
        return true
    }
}

/// A row as the server has it, and as a device wants it that had not seen that.
public struct SyncConflict: Sendable, Hashable {
    public let table: String
    /// The row's id.
    public let key: String
    /// All columns, as the server has them.
    public let server: [String: SQLValue]
    /// The same with what the device has changed.
    public let device: [String: SQLValue]
    /// The columns in which both differ.
    public let changed: Set<String>
}

/// Why a change is refused, in words for the person who made it.
public struct SyncRefusal: LocalizedError, Sendable, Hashable {
    /// At most 1,000 characters of it are told.
    public let message: String

    public init(_ message: String) { self.message = message }

    /// The message.
    public var errorDescription: String? { message }
}
