import LFSStorage
package import LFSSystem
import Synchronization

/// The control of a running pool: pausing it, waking it, cancelling jobs and reading its state.
extension ExecutorPool {
    package func pause() { wait { $0.isPaused = true } }

    package var isPaused: Bool { shared.withLock { $0.pool.isPaused } }

    /// Continues after ``pause()``. If the storage was unavailable, tries it again at once.
    package func resume() { goOn { $0.isPaused = false } }

    /// Stops or resumes the start of uploads. Running uploads continue.
    package func hold(_ isHeld: Bool) {
        if isHeld { wait { $0.isHeld = true } } else { goOn { $0.isHeld = false } }
    }

    package var isHeld: Bool { shared.withLock { $0.pool.isHeld } }

    private func wait(_ change: (inout PoolState) -> Void) {
        shared.withLock { change(&$0.pool) }
        record.notify()
    }

    private func goOn(_ change: (inout PoolState) -> Void) {
        launch(
            shared.withLock { shared in
                change(&shared.pool)
                return shared.pool.askForProbe() + shared.pool.executorsToStart()
            })
        wake()
    }

    /// Yields the network to a download that a user waits for. Uploads yield until ``endYielding()`` was called equally
    /// often.
    package func beginYielding() { shared.withLock { $0.pool.yields += 1 } }

    package func endYielding() {
        launch(
            shared.withLock { shared in
                shared.pool.yields -= 1
                return shared.pool.executorsToStart()
            })
    }

    /// Reads the durable queue again after a change.
    ///
    /// - Parameter mayConcernHeld: true if jobs that are in memory may have been queued again. The pool reads them
    ///   again after it has finished with them.
    package func wake(mayConcernHeld: Bool = false) {
        shared.withLock { shared in
            shared.mayHaveMore = Set(TransferLane.allCases)
            if mayConcernHeld { shared.heldAtChange = shared.pool.held }
        }
        feed.notify()
    }

    /// Drops a job from memory, or stops it if it runs. The durable queue decides what happens to it next.
    package func cancel(_ id: FileID) {
        shared.withLock { shared in
            if shared.pool.drop([id]) > 0 {
                // The job may have been queued again before it was dropped. Then a read has skipped it, because it was
                // in memory.
                shared.mayHaveMore = Set(TransferLane.allCases)
            } else {
                shared.atWork[id]?.cancel()
            }
        }
        feed.notify()
        // If no upload is left that could be the probe, a deletion can be it.
        record.notify()
    }

    /// Drops those of the jobs that wait in memory. The pool reads them again if they are still in the durable queue.
    ///
    /// - Returns: the jobs that cannot be dropped because their uploads are under way.
    package func withdraw(_ ids: Set<FileID>) -> Set<FileID> {
        let (count, underWay) = shared.withLock { ($0.pool.drop(ids), $0.pool.underWay) }
        if count > 0 { wake() }
        return ids.intersection(underWay)
    }

    // MARK: State

    /// The jobs whose uploads run, or have ended without a durable outcome yet.
    package var underWayIDs: Set<FileID> { shared.withLock { $0.pool.underWay } }
    /// The number of jobs in memory.
    package var heldCount: Int { shared.withLock { $0.pool.held.count } }
    package var isIdle: Bool { shared.withLock { $0.pool.isIdle } }
    package var executorCount: Int { shared.withLock { $0.pool.executors } }
    package var runningCount: Int { shared.withLock { $0.pool.running.count } }
}
