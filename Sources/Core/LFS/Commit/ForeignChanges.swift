import LFSDatabase
import Synchronization

/// A check for changes of the database by a connection other than the app's writer. It reads only SQLite's own counter,
/// and no table.
final class ForeignChanges: Sendable {
    private struct Observation {
        var version: Int64?
        var time: ContinuousClock.Instant
    }

    private let runner: BackgroundRunner
    private let interval: Duration
    private let last: Mutex<Observation>

    /// - Parameter interval: the time after which the next check is due.
    init(runner: BackgroundRunner, interval: Duration) {
        self.runner = runner
        self.interval = interval
        last = Mutex(Observation(version: nil, time: .now))
    }

    /// True if the last check is longer ago than the interval.
    var isCheckDue: Bool { last.withLock { .now - $0.time >= interval } }

    /// Returns whether the database has changed since the last call. It also returns true when that is unknown.
    func hasChanges() async -> Bool {
        let version: Int64?
        do {
            version = try await runner.dataVersion()
        } catch {
            // The next reader of the tables gets the error of the database and reports it.
            version = nil
        }
        return last.withLock { last in
            let before = last.version
            last = Observation(version: version, time: .now)
            return version == nil || version != before
        }
    }
}
