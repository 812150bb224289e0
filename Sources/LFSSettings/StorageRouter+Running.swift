import LFSDatabase
import LFSSystem

/// The life of a router: open, running, stopped.
extension StorageRouter {
    /// Looks for changes of other processes, and keeps the settings of other devices and those here equal, until
    /// ``stop()`` is called or the task is cancelled; then it returns, and every observation has ended.
    ///
    /// - Throws: ``SettingsError/Code/notRunning`` when the router ran before; the database's error.
    public func run() async throws {
        try begin()
        try await work()
    }

    /// Starts ``run()`` and returns; it goes on until ``stop()``.
    ///
    /// - Throws: ``SettingsError/Code/notRunning`` when the router ran before.
    public func start() throws {
        try begin()
        // The one task without a parent: `stop` ends it and waits for it.
        task = Task { try await self.work() }
    }

    /// Ends ``run()`` and all observations, and gives the host's connection back. Reading and writing go on.
    ///
    /// When it returns, nothing of this router is left running.
    ///
    /// - Throws: what has ended the run before; the database's error.
    public func stop() async throws {
        let wasRunning = phase == .running
        phase = .stopped
        stopLatch.open()
        if wasRunning { await endLatch.waitThroughCancellation() }
        try await detach()
        let task = task
        self.task = nil
        if let task { try await task.value }
    }

    private func begin() throws {
        guard phase == .open else {
            throw SettingsError(.notRunning, "A router runs once. Open another one.")
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
                // What is asked of a transport then is cut off.
                defer { group.cancelAll() }
                try await watch.run(until: stop, begun: begun)
            }
        }
        phase = .stopped
        // The observations end with the run, also with one that was cancelled.
        access.hub.close()
        endLatch.open()
        try await SettingsError.catching(nil) { try result.get() }
    }
}
