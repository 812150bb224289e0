import LFSDatabase
import LFSSystem

extension StorageRouter {
    /// Watches for changes of other processes, and syncs settings with the user's other devices. The call returns when
    /// ``stop()`` is called or the task is cancelled, and all observations have ended by then.
    ///
    /// - Throws: ``SettingsError/Code/notRunning`` when the router ran before, and the database's error.
    public func run() async throws {
        try begin()
        try await work()
    }

    /// Starts ``run()`` in the background and returns. It runs until ``stop()``.
    ///
    /// - Throws: ``SettingsError/Code/notRunning`` when the router ran before.
    public func start() throws {
        try begin()
        // The only task without a parent: `stop` ends it and waits for it.
        task = Task { try await self.work() }
    }

    /// Ends ``run()`` and all observations, and removes the router's observer from the app's connection. Reading and
    /// writing still work.
    ///
    /// When the call returns, no work of this router is running, also if another call has requested the stop.
    ///
    /// - Throws: the error that ended the run earlier, and the database's error.
    public func stop() async throws {
        if phase == .open { phase = .stopped }
        stopLatch.open()
        if phase == .running { await endLatch.waitThroughCancellation() }
        try await detach()
        let task = task
        self.task = nil
        if let task { try await task.value }
    }

    private func begin() throws {
        guard phase == .open else {
            throw SettingsError(.notRunning, message: "A router can run only once. Open another one.")
        }
        phase = .running
    }

    private func work() async throws {
        let access = access
        let watch = ChangeWatch(
            runner: access.runner, hub: access.hub,
            stamp: { name in
                guard let info = access.registry.entry(forStored: name)?.info else { return nil }
                return try await access.stores.store(for: info.domain).stamp(of: name)
            },
            pollInterval: options.pollInterval, clock: options.clock, logger: options.logger)
        let (stop, begun, runners) = (stopLatch, Latch(), companionRunners)
        let result = await Result.catching {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for runner in runners { group.addTask { await runner.run(after: begun, until: stop) } }
                // Cancels requests to transports that are still in progress.
                defer { group.cancelAll() }
                try await watch.run(until: stop, begun: begun)
            }
        }
        phase = .stopped
        // The observations end with the run, also when it was cancelled.
        access.hub.close()
        endLatch.open()
        try await SettingsError.catching(nil) { try result.get() }
    }
}
