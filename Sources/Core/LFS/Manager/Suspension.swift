import LFSDatabase
import LFSFiles
import LFSSystem
import Logging

/// The suspension of a manager: its work ends, its locks are released, and later both begin again.
///
/// ```
/// request ─> no new work ─> running work ends or is cut short ─> locks released ─> … ─> locks taken ─> work begins
/// ```
final class Suspension: Sendable {
    private let options: LFSOptions
    private let lifecycle: Lifecycle
    private let runner: BackgroundRunner
    private let places: FileLocations
    private let background: BackgroundWork
    private let downloads: DownloadScheduler
    private let hub: EventHub
    /// Suspensions, resumptions and the release of a stop run one at a time.
    private let turn = AsyncSemaphore(1)

    init(
        options: LFSOptions, lifecycle: Lifecycle, runner: BackgroundRunner, places: FileLocations,
        background: BackgroundWork, downloads: DownloadScheduler, hub: EventHub
    ) {
        self.options = options
        self.lifecycle = lifecycle
        self.runner = runner
        self.places = places
        self.background = background
        self.downloads = downloads
        self.hub = hub
    }

    // MARK: Suspending

    /// Refuses new work and stops starting uploads, without waiting for the work that is running.
    ///
    /// - Throws: ``LFSError/Code/notRunning`` after a stop.
    func request() throws(LFSError) {
        try lifecycle.beginSuspension()
        lifecycle.calls.refuse(for: .suspension)
        downloads.refuse(for: .suspension)
        background.endPeriod()
        hub.ringWaiters()
    }

    /// Returns when no work is running and no lock is held. A cancellation of the task ends the work at once.
    ///
    /// - Parameter time: the time after which running work is cut short, also that of an earlier request.
    func suspend(finishingWithin time: Duration) async throws {
        let number = lifecycle.countSuspensionRequest()
        try request()
        let results: [Result<Void, any Error>?] = await race(
            { await Result.catching { try await self.carryOut(request: number) } },
            {
                await self.options.clock.wait(for: time)
                if !Task.isCancelled { self.lifecycle.hurrySuspension() }
                return nil
            })
        try results.compactMap(\.self).first?.get()
    }

    private func carryOut(request: Int) async throws {
        try await turn.withPermitThroughCancellation {
            // The caller of a later resumption does not want the suspension any more.
            if !lifecycle.hasEnded(request: request) { try await carryOut() }
        }
    }

    private func carryOut() async throws {
        // A resumption may have ended an earlier suspension since the request.
        try request()
        if lifecycle.isReleased { return }
        let period = lifecycle.period
        if !period.overdue.isOpen { await race({ await self.waitForWork() }, { await period.overdue.wait() }) }
        period.overdue.open()
        await downloads.stop(for: .suspension)
        await lifecycle.calls.end(for: .suspension)
        await lifecycle.waitForIdle()
        await background.writeUses()
        try places.release()
        lifecycle.endReleasing()
        options.logger.debug("suspended")
    }

    /// Returns when the running work has ended, or when the task is cancelled.
    private func waitForWork() async {
        await downloads.waitForEnd()
        await lifecycle.calls.waitForEnd()
        await lifecycle.waitForEndOfWork()
    }

    // MARK: Resuming

    /// Takes the locks again and lets the work begin. A suspension that has not ended yet is cut short.
    func resume() async throws {
        let requests = lifecycle.suspensionRequestCount
        lifecycle.hurrySuspension()
        try await turn.withPermitThroughCancellation {
            guard lifecycle.isSuspended else { return try lifecycle.requireNoStop() }
            // Its request may be waiting for this turn. Its work has to end before the next one begins.
            try await carryOut()
            try await takeLocks()
            do {
                try lifecycle.endSuspension(ofRequests: requests)
            } catch {
                try places.release()
                throw error
            }
            lifecycle.calls.reopen()
            downloads.reopen()
            hub.ringWaiters()
            options.logger.debug("resumed")
        }
    }

    private func takeLocks() async throws {
        let (places, runner) = (places, runner)
        let isAlone = try await OpenLock.take(places.store.openLock) { try await runner.read(StateTable.isResetting) }
        do {
            try await BlockingPool.shared.run { _ in
                try places.store.requireUnchanged()
                try places.hold()
            }
            try await MissingFileSearch(runner: runner, places: places).refreshPlaces()
            if isAlone {
                try await Reset(runner: runner, places: places, wallClock: options.wallClock).finish()
                try await BlockingPool.shared.run { _ in try places.store.openLock.lock(.shared) }
            }
        } catch {
            try places.release()
            throw error
        }
    }

    // MARK: Stopping

    /// Releases the locks for good, also those of a running resumption.
    func release() async throws { try await turn.withPermitThroughCancellation { try places.release() } }
}
