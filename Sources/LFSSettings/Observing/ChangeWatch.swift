import LFSDatabase
import LFSSystem
import Logging

/// Looks for changes that other processes have made: of the database by a number that SQLite changes, of files by
/// their names, again and again.
struct ChangeWatch: Sendable {
    let runner: BackgroundRunner
    let hub: ChangeHub
    /// Something that is another after a change, by the name of a key beside the database.
    let stamp: @Sendable (String) async throws -> String?
    let pollInterval: Duration
    let clock: any Clock<Duration>
    let logger: Logger?

    /// Returns when the latch opens or the task is cancelled.
    ///
    /// - Parameter begun: is opened once it is known from where on changes are seen.
    func run(until stop: Latch, begun: Latch) async throws {
        var version = try await runner.dataVersion()
        var resetCount: Int64
        do {
            resetCount = try await self.resetCount()
        } catch is CancellationError {
            return
        }
        var stamps: [String: String] = [:]
        // Something may have changed since the observers have read their first values.
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
                // The next turn asks again; whoever reads meets the error.
                logger?.warning("The settings could not ask the database for changes: \(error)")
            }
            await look(&stamps)
        }
    }

    /// How often everything was removed: that goes for values beside the database too.
    private func resetCount() async throws -> Int64 { try await runner.read(SettingsStateTable.read).resetCount }

    private func look(_ stamps: inout [String: String]) async {
        var seen: [String: String] = [:]
        for name in hub.namesBesideDatabase {
            do {
                seen[name] = try await stamp(name) ?? ""
            } catch {
                // Who observes it reads it, and meets the error.
                seen[name] = "unreadable"
            }
            // The first look at a name has nothing to compare with, and something may have changed before it.
            if stamps[name] != seen[name] { hub.notify([name]) }
        }
        stamps = seen
    }
}
