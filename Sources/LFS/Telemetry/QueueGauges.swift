import Foundation
import LFSDatabase
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// Says that the queue of uploads may look otherwise than when it was reported last. Without the package's trait
/// `Metrics` nobody reports it.
final class QueueChange: Sendable {
    #if Metrics
    private let isNoted = Mutex(false)
    let signal = Signal()

    func note() {
        isNoted.withLock { $0 = true }
        signal.notify()
    }

    /// Whether it was noted since it was asked last.
    func take() -> Bool {
        isNoted.withLock { isNoted in
            defer { isNoted = false }
            return isNoted
        }
    }
    #else
    func note() {}
    #endif
}

/// Reports how the queue of uploads stands, from a start to a stop.
///
/// The database is read when something has changed, once a second at the most. In between only the age of the oldest
/// file moves, which needs no look at the database; and when nothing waits, not even that. Without a backend of
/// metrics, or without the package's trait `Metrics`, it does nothing at all.
struct QueueGauges: Sendable {
    let instruments: Instruments
    let runner: BackgroundRunner
    let pool: ExecutorPool
    /// Opens when the end is asked for.
    let stop: Latch
    let isStopRequested: @Sendable () -> Bool
    let clock: any Clock<Duration>
    let wallClock: @Sendable () -> Date
    let logger: Logger

    #if Metrics
    private static let shortestInterval = Duration.seconds(1)
    private static let ageInterval = Duration.seconds(5)
    /// Of a queue with very many files a look takes a while, and then the next one waits this many times as long, but
    /// no longer than a person who watches it would.
    private static let share = 20
    private static let longestInterval = Duration.seconds(15)

    func run() async {
        guard instruments.areHeard else { return }
        var oldest: Date?
        while !isStopRequested() {
            let start = ContinuousClock.now
            do {
                let backlog = try await runner.read(JobTable.backlog)
                instruments.report(backlog)
                oldest = backlog.oldest
            } catch {
                // The next change brings another look.
                logger.debug("queue not measured", metadata: ["error.message": "\(error)"])
            }
            instruments.report(executors: pool.executorCount)
            reportAge(of: oldest)
            let share = (ContinuousClock.now - start) * Self.share
            let pause = min(max(Self.shortestInterval, share), Self.longestInterval)
            await stop.wait(atMost: pause, clock: clock)
            await waitForChange(oldest)
        }
        instruments.report(executors: 0)
    }

    private func waitForChange(_ oldest: Date?) async {
        let change = instruments.queueChange
        while !isStopRequested(), !change.take() {
            let interval = oldest == nil ? nil : Self.ageInterval
            await stop.wait(orFor: change.signal, atMost: interval, clock: clock)
            reportAge(of: oldest)
        }
    }

    /// A clock that was set back makes no file younger than new.
    private func reportAge(of oldest: Date?) {
        instruments.report(oldestAge: oldest.map { max(wallClock().timeIntervalSince($0), 0) } ?? 0)
    }
    #else
    func run() async {}
    #endif
}
