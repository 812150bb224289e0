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

    // MARK: Other devices

    /// Reads the settings that other devices have published, and publishes those set on this device. It includes the
    /// keys that sync automatically and those that sync on request (``SettingSync/manual``).
    ///
    /// A running router syncs the automatic keys without this call. Each transport is called, even after another one
    /// failed. After ``removeAll()`` this router takes no values from other devices any more, and withdraws what it has
    /// published.
    ///
    /// The call reads everything that others have published, including what a running router has already read.
    ///
    /// - Throws: the error of the first transport that failed, ``SettingsError/Code/transportFailed``,
    ///   ``SettingsError/Code/timedOut`` when a transport does not answer within ``CompanionOptions/deadline``,
    ///   ``SettingsError/Code/tooLarge`` when some values did not fit, after all others were published,
    ///   ``SettingsError/Code/clockAhead``, and errors of the database. Data of single devices that this device does
    ///   not accept is not an error. ``companions`` reports it.
    public nonisolated func synchronize() async throws {
        var failure: (any Error)?
        for runner in companionRunners {
            do {
                try await runner.synchronize(includesManual: true)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The state of the sync with other devices, for each transport.
    public nonisolated var companions: [CompanionStatus] { companionRunners.map(\.status) }

    // MARK: The run

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
