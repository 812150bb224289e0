import GRDB
import Synchronization

/// The notices of the writing connection to a SQLite file. Its temporary triggers call a function for each change that
/// streams depend on. Other connections to the file do not have these triggers.
///
/// The mutex owns the notices of the current transaction.
final class SQLiteNotices: Sendable {
    private struct State {
        var noted: Set<ServerNotice> = []
        var receive: (@Sendable ([ServerNotice]) -> Void)?
    }

    private let state = Mutex(State())

    /// The function of the triggers. Its argument is the line of a notice.
    var function: DatabaseFunction {
        DatabaseFunction("lfs_notice", argumentCount: 1) { [self] values in
            if let notice = String.fromDatabaseValue(values[0]).flatMap({ ServerNotice(line: $0) }) {
                state.withLock { _ = $0.noted.insert(notice) }
            }
            return nil
        }
    }

    /// The statements that create the triggers.
    static let triggers = [
        ("sync_scope", "UPDATE OF head", "NEW.head <> OLD.head", "'s ' || NEW.id"),
        ("sync_grant", "INSERT", "true", "'a ' || NEW.accountID"),
        ("sync_grant", "DELETE", "true", "'a ' || OLD.accountID"),
        (
            "sync_session", "UPDATE OF epoch, resetReason",
            "NEW.epoch <> OLD.epoch OR NEW.resetReason IS NOT OLD.resetReason", "'a ' || NEW.accountID"
        ),
        ("sync_session", "DELETE", "true", "'a ' || OLD.accountID"),
    ].map { table, event, condition, line in
        """
        CREATE TEMP TRIGGER IF NOT EXISTS "\(table)_\(event.prefix(6).lowercased())_notice"
        AFTER \(event) ON main.\(table)
        WHEN \(condition) BEGIN SELECT lfs_notice(\(line)); END;
        """
    }.joined(separator: "\n")

    func begin(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) {
        state.withLock { $0.receive = receive }
    }

    /// Runs the changes of a transaction of the writing connection.
    ///
    /// - Returns: the value of the closure, and the notices about its changes.
    func collect<Value>(_ changes: () throws -> Value) throws -> (Value, [ServerNotice]) {
        state.withLock { $0.noted = [] }
        let value = try changes()
        return (value, state.withLock { Array($0.noted) })
    }

    /// Passes notices to the observer, after the commit.
    func pass(_ notices: [ServerNotice]) {
        guard !notices.isEmpty else { return }
        state.withLock { $0.receive }?(notices)
    }
}
