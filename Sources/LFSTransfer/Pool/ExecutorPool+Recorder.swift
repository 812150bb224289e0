import LFSStorage
import LFSSystem
import Synchronization

/// The pool's recorder: outcomes become durable, in batches.
extension ExecutorPool {
    /// Writes outcomes down. What came together while one batch was being written is the next batch.
    func runRecorder() async {
        var failures = 0
        await forgetOutage()
        while true {
            if hasMoreToCome { await halt.wait(atMost: grouping, clock: clock) }
            let (batch, isOver, reads) = shared.withLock { ($0.outcomes, $0.executorsHaveEnded, $0.reads) }
            if batch.isEmpty {
                await tellOutage()
                if isOver { return }
                await record.waitThroughCancellation()
                continue
            }
            do {
                try await journal.record(batch)
                failures = 0
                settle(batch, reads)
                await tellOutage()
            } catch {
                events(.journalFailed(error))
                failures += 1
                // The database is busy or full. The uploads are done and stay done; only the rows wait. After a stop
                // one more try has to do: the durable queue still has these jobs, and uploading again is harmless.
                if isOver, failures > 1 { return }
                if isOver { continue }
                await waitToRecordAgain(failures, StorageError(wrapping: error))
            }
        }
    }

    /// Whether a small batch may wait: a commit costs much the same for one outcome as for fifty.
    private var hasMoreToCome: Bool {
        guard grouping > .zero else { return false }
        return shared.withLock { shared in
            (1..<64).contains(shared.outcomes.count) && !shared.pool.isStopping
                && (!shared.pool.running.isEmpty || shared.pool.queued > 0)
        }
    }

    private func waitToRecordAgain(_ failures: Int, _ error: StorageError) async {
        if isStopping { return await record.waitThroughCancellation() }
        await halt.wait(atMost: policy.delay(afterFailures: failures, error), clock: clock)
    }

    /// - Parameter reads: how often the journal had been read when the batch went to it.
    private func settle(_ batch: [TransferOutcome], _ reads: Int) {
        let (count, isIdle, isIncomplete) = shared.withLock { shared in
            shared.outcomes.removeFirst(batch.count)
            let hasRetries = batch.contains { outcome in
                switch outcome.result {
                case .retry, .waiting, .givenBack, .skipped: true
                default: false
                }
            }
            // Reads pass over jobs that are held, and any of these may have been queued anew meanwhile.
            let wasChanged = batch.count { shared.heldAtChange.remove($0.job.id) != nil } > 0
            let isIncomplete = hasRetries || wasChanged || shared.reads != reads
            if isIncomplete { shared.mayHaveMore = Set(TransferLane.allCases) }
            let count = shared.pool.recorded(batch)
            return (count, shared.pool.isIdle, isIncomplete)
        }
        launch(count)
        for outcome in batch { publish(outcome) }
        if isIdle || isIncomplete { feed.notify() }
        if isIdle { events(.idle) }
    }

    /// Clears the outage that an earlier process has noted in the database; this one finds out for itself.
    private func forgetOutage() async {
        do {
            try await journal.note(outage: nil)
        } catch {
            events(.journalFailed(error))
        }
    }

    /// Tells when an outage has begun, has another reason or is over.
    private func tellOutage() async {
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

    private func publish(_ outcome: TransferOutcome) {
        switch outcome.result {
        case .uploaded(let object): events(.uploaded(id: outcome.job.id, object))
        case .retry(let error, let delay, _): events(.failed(id: outcome.job.id, error, nextAttempt: delay))
        case .failed(let error): events(.failed(id: outcome.job.id, error, nextAttempt: nil))
        // An outage is told once, of the storage, and not for each file that waits.
        case .waiting, .skipped, .givenBack: break
        }
    }
}
