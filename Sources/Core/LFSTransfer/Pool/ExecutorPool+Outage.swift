package import LFSStorage
import LFSSystem
import Synchronization

/// The handling of outages of the whole storage: the probes that detect their end, and the reports.
extension ExecutorPool {
    /// During an outage, lets one job run after each delay.
    func runProber() async {
        while !isStopping {
            if let delay = nextProbe() {
                await halt.wait(atMost: delay, clock: clock)
                if isStopping { return }
                launch(shared.withLock { $0.pool.allowProbe() })
                events(.probeIsDue)
            } else {
                await outage.wait()
            }
        }
    }

    /// Returns the delay before the next probe, or nil if none is needed.
    private func nextProbe() -> Duration? {
        shared.withLock { shared in
            guard let outage = shared.pool.outage, outage.probe == nil, !outage.mayProbe else { return nil }
            return policy.delay(afterFailures: outage.failures, outage.error)
        }
    }

    /// Clears the outage that an earlier process has recorded in the database. This process detects an outage again.
    func forgetOutage() async {
        do {
            try await journal.note(outage: nil)
        } catch {
            events(.journalFailed(error))
        }
    }

    /// Reports that an outage has started, has a new reason or is over.
    func tellOutage() async {
        let (told, now, wakesDeletions) = shared.withLock { shared in
            let outage = shared.pool.outage
            let now = outage?.isDoubtful == true ? nil : outage?.error
            let wakesDeletions = shared.pool.mayAdmitRefusedDeletion
            if wakesDeletions { shared.pool.hasRefusedDeletion = false }
            defer { shared.told = now }
            return (shared.told, now, wakesDeletions)
        }
        if wakesDeletions { events(.probeIsDue) }
        guard told?.code != now?.code else { return }
        do {
            try await journal.note(outage: now)
        } catch {
            // The record in the database is only for the app's status. The pool works without it.
            events(.journalFailed(error))
        }
        events(.outage(now))
    }

    // MARK: Deletions

    /// Returns the permission to delete an object. Returns nil during an outage, unless the deletion may be the probe.
    /// With a permission the caller deletes the object and then calls ``endDeletion(_:_:)``.
    package func admitDeletion() -> Admission? { shared.withLock { $0.pool.admitDeletion() } }

    package func endDeletion(_ admission: Admission, error: StorageError?) {
        noteOutage(shared.withLock { $0.pool.endDeletion(admission, error: error) })
    }

    /// True during a known or suspected outage of the whole storage.
    package var isAway: Bool { shared.withLock { $0.pool.outage != nil } }
    /// The same as ``isAway``, but false while the only rejection may concern a single file.
    package var isKnownAway: Bool { shared.withLock { $0.pool.outage?.isDoubtful == false } }

    func noteOutage(_ executors: Int) {
        launch(executors)
        // Only the recorder reports outages, so that starts and ends are reported in order.
        record.notify()
        outage.notify()
    }
}
