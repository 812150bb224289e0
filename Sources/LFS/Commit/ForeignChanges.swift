import GRDB
import LFSDatabase
import Synchronization

/// Whether a connection other than the host's writer has changed the database, for the price of a look at SQLite's own
/// counter: nothing of the tables is read.
///
/// Source: `PRAGMA data_version` of SQLite, whose value is compared with an earlier one of the same connection.
final class ForeignChanges: Sendable {
    private let runner: BackgroundRunner
    private let last = Mutex<Int64?>(nil)

    init(runner: BackgroundRunner) {
        self.runner = runner
    }

    /// Since it was asked last; also when it cannot be told.
    func areThere() async -> Bool {
        let version: Int64?
        do {
            version = try await runner.withWriter { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") }
        } catch {
            // Whoever reads the tables next finds out what is wrong with the database, and tells of it.
            version = nil
        }
        return last.withLock { last in
            defer { last = version }
            return version == nil || version != last
        }
    }
}
