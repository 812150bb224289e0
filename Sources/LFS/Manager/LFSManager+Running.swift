import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

extension LFSManager {
    /// Starts the background work and returns; it goes on until ``stop()``.
    ///
    /// A host with a service group calls ``run()`` instead.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager ran before.
    public func start() throws {
        try lifecycle.begin()
        // The one task without a parent: `stop` ends it and waits for it.
        lifecycle.own(Task { try await self.work() })
    }

    /// Does the background work until ``stop()`` is called or the task is cancelled; then it returns, and nothing that
    /// it started is left running. An empty queue does not end it.
    public func run() async throws {
        try lifecycle.begin()
        try await work()
    }

    /// Ends the background work and gives the database back: uploads under way end within
    /// ``LFSOptions/shutdownTimeout`` or go back to the queue. Nothing is lost; the next start goes on.
    ///
    /// Calls under way that take long, such as ``verify(_:onFinding:onProgress:)``, ``evict(_:onCopy:)`` or a
    /// ``makeFile(from:name:contentType:onProgress:)``, are cancelled and throw ``LFSError/Code/notRunning``: what they
    /// have done stands, and a file that was being made leaves nothing. A source or a closure of the app's own that does
    /// not end when its task is cancelled holds the stop up.
    ///
    /// When it returns, nothing of this manager is left running and no event follows. Another stop, or a reset, that is
    /// under way has ended too. Only a call whose own closure has asked for the stop ends right after that closure.
    public func stop() async throws {
        try await close()
        await lifecycle.waitForReset()
    }

    func close() async throws {
        let isRunning = lifecycle.requestStop()
        downloads.halt()
        if isRunning {
            pool.stop()
            await lifecycle.waitForEnd()
        }
        if let task = lifecycle.takeTask() { try await task.value }
        try await detach()
    }

    private func work() async throws {
        defer { lifecycle.end() }
        let result: Result<Void, any Error>
        do {
            result = .success(try await workUntilStopped())
        } catch {
            result = .failure(LFSError.wrapping(error))
        }
        try await detach()
        try result.get()
    }

    private func workUntilStopped() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.watchCommits() }
            tasks.addTask { try await self.lead() }
            tasks.addTask { await self.keepUses() }
            if self.room.isActive {
                tasks.addTask { await self.untilStopped(gracePeriod: .zero) { await self.keepRoom() } }
                tasks.addTask { await self.untilStopped(gracePeriod: .zero) { await self.lookForCopies() } }
            }
            try await withTaskCancellationHandler {
                do {
                    while try await tasks.next() != nil {}
                } catch {
                    end()
                    throw error
                }
            } onCancel: {
                end()
            }
        }
    }

    private func end() {
        _ = lifecycle.requestStop()
        downloads.halt()
        pool.stop()
    }

    // MARK: Commits

    /// Promotes the files of each commit and passes the news on. Looks by itself from time to time as well, because
    /// commits of other processes are not heard.
    private func watchCommits() async {
        let promoter = Promoter(runner: runner, places: places)
        var retry = PromotionRetry(
            pollInterval: options.pollInterval, hasMissed: promotionIsDue.withLock { $0 })
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: commits, atMost: options.pollInterval, clock: options.clock)
            let changes = observer.takeChanges()
            pool.wake()
            tombstones.notify()
            do {
                switch retry.next(changes, at: options.wallClock()) {
                case .nothing: break
                case .all: try await promoter.promoteAll { _, _ in }
                case .rows(let rows):
                    for id in try await promoter.promote(rows: rows) { hub.send(.queued(id)) }
                }
                retry.succeeded()
            } catch {
                retry.failed(at: options.wallClock())
                // Nothing is lost: whoever needs the bytes finds them where they are, and the next open promotes them.
                options.logger.debug("promotion failed, will retry", metadata: ["error.message": "\(error)"])
            }
            hub.ringWaiters()
        }
    }

    // MARK: Reading

    /// Writes down which files were used, a while after the first use that is not written yet.
    private func keepUses() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: uses.hasNotes, atMost: nil, clock: options.clock)
            await lifecycle.stop.wait(atMost: options.useInterval, clock: options.clock)
            // What is noted from here on is the stop's.
            if !lifecycle.isStopRequested { await writeUses() }
        }
    }

    /// Evicts whenever something has come, or may go.
    private func keepRoom() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: places.ledger.changed, atMost: nil, clock: options.clock)
            if !lifecycle.isStopRequested { await room.makeRoomIfPossible() }
        }
    }

    /// Other processes bring and take copies too, and with time a copy is no longer a recent one.
    private func lookForCopies() async {
        while !lifecycle.isStopRequested {
            await room.refill()
            await lifecycle.stop.wait(atMost: options.evictionInterval, clock: options.clock)
        }
    }

    func writeUses() async {
        do {
            try await uses.flush()
        } catch {
            // It is a hint to what may be evicted first; the notes are kept, and the next flush tries again.
            options.logger.debug("last uses not written", metadata: ["error.message": "\(error)"])
        }
    }

    // MARK: Uploading

    /// Waits until no other process uploads for this database, then does it until the stop.
    private func lead() async throws {
        let lock = places.store.uploaderLock
        while !lifecycle.isStopRequested {
            if try lock.tryLock(.exclusive) {
                await offload()
                return try lock.unlock()
            }
            await lifecycle.stop.wait(atMost: options.pollInterval, clock: options.clock)
        }
    }

    private func offload() async {
        options.logger.debug("uploading", metadata: ["lfs.storage": "\(options.storage.capabilities.kind)"])
        await withTaskGroup(of: Void.self) { tasks in
            let timeout = options.shutdownTimeout
            tasks.addTask { await self.pool.run(gracePeriod: timeout) }
            tasks.addTask { await self.untilStopped(gracePeriod: timeout) { await self.remove() } }
            await tasks.waitForAll()
        }
    }

    /// Does the work to its end. After a stop it has the grace period to end by itself, then it is cancelled.
    private func untilStopped(gracePeriod: Duration, _ work: @escaping @Sendable () async -> Void) async {
        let (stop, clock) = (lifecycle.stop, options.clock)
        await race(
            work,
            {
                await stop.wait()
                await clock.wait(for: gracePeriod)
            })
    }

    private func remove() async {
        while !lifecycle.isStopRequested {
            var wait: Duration?
            do {
                wait = try await deletions.run { self.lifecycle.isStopRequested }
            } catch {
                options.logger.debug("deleting failed, will retry", metadata: ["error.message": "\(error)"])
                wait = options.pollInterval
            }
            await lifecycle.stop.wait(orFor: tombstones, atMost: wait, clock: options.clock)
        }
    }
}
