package import LFSStorage
import LFSSystem
import Synchronization

/// The times in which the storage as a whole is away: who asks whether one is over, and who is told.
extension ExecutorPool {
    /// While the storage is away, lets one job go after each wait.
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

    /// How long to wait before a probe, nil when none is called for.
    private func nextProbe() -> Duration? {
        shared.withLock { shared in
            guard let outage = shared.pool.outage, outage.probe == nil, !outage.mayProbe else { return nil }
            return policy.delay(afterFailures: outage.failures, outage.error)
        }
    }

    /// Clears the outage that an earlier process has noted in the database; this one finds out for itself.
    func forgetOutage() async {
        do {
            try await journal.note(outage: nil)
        } catch {
            events(.journalFailed(error))
        }
    }

    /// Tells when an outage has begun, has another reason or is over.
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
            // The note in the database is for the app's status only. The pool works without it.
            events(.journalFailed(error))
        }
        events(.outage(now))
    }

    // MARK: Deletions

    /// Asks whether an object may be deleted now; nil while the storage is away. Otherwise the caller deletes it and
    /// calls ``endDeletion(_:_:)``.
    package func admitDeletion() -> Admission? { shared.withLock { $0.pool.admitDeletion() } }

    package func endDeletion(_ admission: Admission, _ error: StorageError?) {
        noteOutage(shared.withLock { $0.pool.endDeletion(admission, error) })
    }

    /// Whether the storage as a whole is away, as far as is known.
    package var isAway: Bool { shared.withLock { $0.pool.outage != nil } }
    /// As ``isAway``, but false while the only refusal may be about a single file.
    package var isKnownAway: Bool { shared.withLock { $0.pool.outage?.isDoubtful == false } }

    func noteOutage(_ executors: Int) {
        launch(executors)
        // Only the recorder tells of outages, so that beginnings and ends come in order.
        record.notify()
        outage.notify()
    }
}
