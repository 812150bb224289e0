import LFSDatabase
import LFSSystem
import Logging

/// A poller that detects changes of other processes. For the database it compares SQLite's `data_version`, for other
/// stores the stamps of the observed keys.
struct ChangeWatch: Sendable {
    let runner: BackgroundRunner
    let hub: ChangeHub
    /// Returns a stamp that differs after a change, for the name of a key outside the database.
    let stamp: @Sendable (String) async throws -> String?
    let pollInterval: Duration
    let clock: any Clock<Duration>
    let logger: Logger?

    /// Polls until the latch opens or the task is cancelled.
    ///
    /// - Parameter begun: opened once the starting point is known, after which all changes are detected.
    func run(until stop: Latch, begun: Latch) async throws {
        var version = try await runner.dataVersion()
        var resetCount: Int64
        do {
            resetCount = try await self.resetCount()
        } catch is CancellationError {
            return
        }
        var stamps: [String: String] = [:]
        // The values may have changed after the observers read them for the first time.
        hub.notifyDatabase()
        begun.open()
        while true {
            await stop.wait(atMost: pollInterval, clock: clock)
            if stop.isOpen || Task.isCancelled { return }
            do {
                let next = try await runner.dataVersion()
                if next != version {
                    let count = try await self.resetCount()
                    version = next
                    if count == resetCount { hub.notifyDatabase() } else { hub.notifyAll() }
                    resetCount = count
                }
            } catch is CancellationError {
                return
            } catch {
                // The next poll tries again, and readers get the error.
                logger?.warning("The settings could not check the database for changes: \(error)")
            }
            await look(&stamps)
        }
    }

    /// The number of removals of all values, which also remove values outside the database.
    private func resetCount() async throws -> Int64 { try await runner.read(SettingsStateTable.read).resetCount }

    private func look(_ stamps: inout [String: String]) async {
        var seen: [String: String] = [:]
        for name in hub.namesBesideDatabase {
            do {
                seen[name] = try await stamp(name) ?? ""
            } catch {
                // The observers read the value and get the error.
                seen[name] = "unreadable"
            }
            // A new name has no earlier stamp, and the value may have changed before this poll.
            if stamps[name] != seen[name] { hub.notify([name]) }
        }
        stamps = seen
    }
}
