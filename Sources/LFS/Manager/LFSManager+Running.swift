import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

#if ServiceLifecycle
public import ServiceLifecycle

extension LFSManager: Service {}
#endif

/// The life of a manager: attached to the host's connection, running, stopped, given back.
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
    ///
    /// With the package's trait `ServiceLifecycle` the manager is a `Service`, and the graceful shutdown of its service
    /// group is a ``stop()``: uploads under way end within ``LFSOptions/shutdownTimeout`` or go back to the queue.
    ///
    /// - Throws: ``LFSError/Code/notRunning`` when the manager ran before, and the error that has ended the work.
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

    /// Ends the background work and gives the database back: uploads under way end within
    /// ``LFSOptions/shutdownTimeout`` or go back to the queue. Nothing is lost; the next start goes on.
    ///
    /// Calls under way that take long, such as ``verify(_:onFinding:onProgress:)``, ``evict(_:onCopy:)`` or a
    /// ``makeFile(from:name:contentType:onProgress:)``, are cancelled and throw ``LFSError/Code/notRunning``: what they
    /// have done stands, and a file that was being made leaves nothing. A source or a closure of the app's own that
    /// does not end when its task is cancelled holds the stop up.
    ///
    /// When it returns, nothing of this manager is left running and no event follows. Another stop, or a reset, that is
    /// under way has ended too. Only a call whose own closure has asked for the stop ends right after that closure.
    ///
    /// - Throws: what has ended the background work before, and the database's error when it cannot be given back.
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

    // MARK: The host's connection

    func attach(_ opening: Opening) async throws {
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

    /// Undoes what ``attach(_:)`` has done, once. Who asks for it again waits until it is done.
    private func detach() async throws {
        guard lifecycle.beginDetaching() else { return await lifecycle.waitForDetaching() }
        defer { lifecycle.endDetaching() }
        await lifecycle.calls.end()
        await downloads.stop()
        await background.writeUses()
        // On the writer's own queue: the host may hold it for long, and no thread of Swift's waits for that.
        let observer = observer
        do {
            try await runner.withWriter { db in
                db.remove(transactionObserver: observer)
                try InsertGuard.remove(db)
            }
        } catch let error as TableError where error.code == .closed {
            // What was attached to the connection went with it.
        }
        try places.release()
        hub.close()
    }
}
