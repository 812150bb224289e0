import Foundation
import LFSDatabase
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// A flag that the queue of uploads may have changed since the last report. Without the package's trait `Metrics` it
/// has no effect.
final class QueueChange: Sendable {
    #if Metrics
    private let isNoted = Mutex(false)
    let signal = Signal()

    func note() {
        isNoted.withLock { $0 = true }
        signal.notify()
    }

    /// Returns whether the flag was set since the last call, and clears it.
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

/// A reporter of the state of the upload queue, during the background work.
///
/// It reads the database after a change, at most once a second. Between reads only the age of the oldest file changes,
/// which needs no read. When no file is pending, it reports no age either. Without a metrics backend, or without the
/// package's trait `Metrics`, it does nothing.
struct QueueGauges: Sendable {
    let instruments: Instruments
    let runner: BackgroundRunner
    let pool: ExecutorPool
    /// Returns the latch that opens when the reports have to end.
    let ending: @Sendable () -> Latch
    let clock: any Clock<Duration>
    let wallClock: @Sendable () -> Date
    let logger: Logger

    #if Metrics
    private static let shortestInterval = Duration.seconds(1)
    private static let ageInterval = Duration.seconds(5)
    /// The pause between two reads is this many times the duration of a read, which takes a while for very long queues.
    /// It is at most ``longestInterval``, so that a person can watch the values.
    private static let share = 20
    private static let longestInterval = Duration.seconds(15)

    func run() async {
        guard instruments.areHeard else { return }
        var oldest: Date?
        while !ending().isOpen {
            let start = ContinuousClock.now
            do {
                let backlog = try await runner.read(JobTable.backlog)
                instruments.report(backlog)
                oldest = backlog.oldest
            } catch {
                // The next change triggers another read.
                logger.debug("queue not measured", metadata: ["error.message": "\(error)"])
            }
            instruments.report(executors: pool.executorCount)
            reportAge(of: oldest)
            let share = (ContinuousClock.now - start) * Self.share
            let pause = min(max(Self.shortestInterval, share), Self.longestInterval)
            await ending().wait(atMost: pause, clock: clock)
            await waitForChange(oldest)
        }
        instruments.report(executors: 0)
    }

    private func waitForChange(_ oldest: Date?) async {
        let change = instruments.queueChange
        while !ending().isOpen, !change.take() {
            let interval = oldest == nil ? nil : Self.ageInterval
            await ending().wait(orFor: change.signal, atMost: interval, clock: clock)
            reportAge(of: oldest)
        }
    }

    /// Reports the age of the oldest file. It is never negative, even after the clock was set back.
    private func reportAge(of oldest: Date?) {
        instruments.report(oldestAge: oldest.map { max(wallClock().timeIntervalSince($0), 0) } ?? 0)
    }
    #else
    func run() async {}
    #endif
}
