/// Suspension, for an app whose process the system freezes.
extension LFSManager {
    /// Ends the background work and releases every lock of this manager, until ``resumeFromSuspension()``. Call it
    /// before the system suspends the process, for example when an iOS app leaves the screen.
    ///
    /// iOS ends a suspended app that holds a file lock in the folder of an app group, and the lock of a suspended
    /// process blocks the uploads of the others. When this method returns, no lock is held, no work of this manager is
    /// running, and another process can upload. Running uploads return to the queue when the time is over.
    ///
    /// During a suspension local copies can be read, records can be inserted and deleted, and the state can be queried.
    /// Everything that writes files or uses the storage throws ``LFSError/Code/suspended``: making files, downloads,
    /// ``prefetch(_:)``, ``verify(_:onFinding:onProgress:)``, ``evict(_:onCopy:)``, ``repairLocalCopy(of:)``,
    /// ``restore(_:from:onProgress:)`` and waiting for uploads. Running calls of this kind have the same time as
    /// uploads. Event streams stay open.
    ///
    /// A manager that is suspended before ``start()`` begins its work when it is resumed. A suspension is independent
    /// of ``pause()``.
    ///
    /// - Parameter time: The time for running uploads and calls. Nil for ``LFSOptions/shutdownTimeout``. A later call
    ///   with less time, or the cancellation of the task, shortens it.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, and ``LFSError/Code/system`` when a lock cannot be
    ///   released.
    public func suspend(finishingWithin time: Duration? = nil) async throws {
        try await LFSError.catching {
            try await suspension.suspend(finishingWithin: time ?? options.shutdownTimeout)
        }
    }

    /// Takes the locks again after ``suspend(finishingWithin:)``, checks everything once, and continues the work. It
    /// does nothing when the manager is not suspended.
    ///
    /// Other processes may have uploaded, inserted and deleted files in the meantime. A reset by another process that
    /// ended early is finished.
    ///
    /// - Throws: ``LFSError/Code/wrongStore`` when the local store is no longer the folder that was opened,
    ///   ``LFSError/Code/openElsewhere`` while another process has an unfinished reset, and the database's error. The
    ///   manager is still suspended then, and the call can be repeated. After a stop, the error is
    ///   ``LFSError/Code/notRunning``.
    public func resumeFromSuspension() async throws {
        try await LFSError.catching { try await suspension.resume() }
    }

    /// True from the beginning of ``suspend(finishingWithin:)`` to the end of ``resumeFromSuspension()``. False after a
    /// stop.
    package var isSuspended: Bool { lifecycle.isSuspended }
}
