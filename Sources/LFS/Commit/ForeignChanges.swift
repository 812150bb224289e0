import LFSDatabase
import Synchronization

/// Whether a connection other than the host's writer has changed the database, for the price of a look at SQLite's own
/// counter: nothing of the tables is read.
final class ForeignChanges: Sendable {
    private struct Look {
        var version: Int64?
        var time: ContinuousClock.Instant
    }

    private let runner: BackgroundRunner
    private let interval: Duration
    private let last: Mutex<Look>

    /// - Parameter interval: after this long it is time to ask again.
    init(runner: BackgroundRunner, interval: Duration) {
        self.runner = runner
        self.interval = interval
        last = Mutex(Look(version: nil, time: .now))
    }

    /// Whether it was not asked for the interval.
    var areDue: Bool { last.withLock { .now - $0.time >= interval } }

    /// Since it was asked last; also when it cannot be told.
    func areThere() async -> Bool {
        let version: Int64?
        do {
            version = try await runner.dataVersion()
        } catch {
            // Whoever reads the tables next finds out what is wrong with the database, and tells of it.
            version = nil
        }
        return last.withLock { last in
            let before = last.version
            last = Look(version: version, time: .now)
            return version == nil || version != before
        }
    }
}
