import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

#if ServiceLifecycle
public import ServiceLifecycle

extension LFSManager: Service {}
#endif

/// The life cycle of a manager: attached to the app's connection, running, stopped, detached.
extension LFSManager {
    /// Starts the background work and returns. The work continues until ``stop()``.
    ///
    /// An app with a service group calls ``run()`` instead.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager was started before.
    public func start() throws {
        try lifecycle.begin()
        // The only task without a parent. `stop` ends it and waits for it.
        lifecycle.own(Task { try await self.work() })
    }

    /// Does the background work until ``stop()`` is called or the task is cancelled. It returns when everything that it
    /// started has ended. An empty queue does not end it.
    ///
    /// With the package's trait `ServiceLifecycle` the manager is a `Service`, and the graceful shutdown of its service
    /// group acts as ``stop()``. Running uploads finish within ``LFSOptions/shutdownTimeout`` or return to the queue.
    ///
    /// - Throws: ``LFSError/Code/notRunning`` when the manager was started before, and the error that has ended the
    ///   work.
    public func run() async throws {
        try lifecycle.begin()
        #if ServiceLifecycle
        try await withGracefulShutdownHandler {
            try await work()
        } onGracefulShutdown: { [background] in
            background.requestStop()
        }
        #else
        try await work()
        #endif
    }

    /// Stops the background work and detaches from the database. Running uploads finish within
    /// ``LFSOptions/shutdownTimeout`` or return to the queue. Nothing is lost, and the next start continues them.
    ///
    /// Long calls such as ``verify(_:onFinding:onProgress:)``, ``evict(_:onCopy:)`` or
    /// ``makeFile(from:name:contentType:onProgress:)`` are cancelled and throw ``LFSError/Code/notRunning``. Their
    /// completed work is kept, and an unfinished file leaves nothing behind. A source or closure of the app that
    /// ignores cancellation delays the stop.
    ///
    /// When the method returns, no work of this manager is running and no event follows. Another running stop or reset
    /// has ended too. The exception is a call whose own closure requested the stop. It ends right after that closure.
    ///
    /// - Throws: the error that ended the background work earlier, and the database's error when detaching fails.
    public func stop() async throws {
        try await close()
        await lifecycle.waitForReset()
    }

    func close() async throws {
        if background.requestStop() { await lifecycle.waitForEnd() }
        if let task = lifecycle.takeTask() { try await task.value }
        try await detach()
    }

    private func work() async throws {
        defer { lifecycle.end() }
        let result = await Result.catching { try await LFSError.catching { try await background.run() } }
        try await detach()
        try result.get()
    }

    // MARK: The app's connection

    func attach(_ opening: ManagerOpening) async throws {
        let (places, observer) = (places, observer)
        try await runner.withWriter { db in
            try InsertGuard.install(db, for: places)
        }
        do {
            try await runner.withWriter { db in db.add(transactionObserver: observer, extent: .observerLifetime) }
            let hasMissed = try await opening.repair()
            background.commits.hasMissedFiles.withLock { $0 = hasMissed }
        } catch {
            try await detach()
            throw error
        }
    }

    /// Undoes ``attach(_:)``, once. Further callers wait until it is done.
    private func detach() async throws {
        guard lifecycle.beginDetaching() else { return await lifecycle.waitForDetaching() }
        defer { lifecycle.endDetaching() }
        await notifications?.end()
        await lifecycle.calls.end(for: .stop)
        await downloads.stop(for: .stop)
        await background.writeUses()
        // On the writer's own queue, because the app may hold the writer for long, and no thread of Swift's pool may
        // block.
        let observer = observer
        do {
            try await runner.withWriter { db in
                db.remove(transactionObserver: observer)
                try InsertGuard.remove(db)
            }
        } catch let error as TableError where error.code == .closed {
            // The attachments ended with the connection.
        }
        try await suspension.release()
        hub.close()
    }
}
