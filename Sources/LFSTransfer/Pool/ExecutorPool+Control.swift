import LFSStorage
package import LFSSystem
import Synchronization

/// What others ask of the pool while it works: to hold on, to look again, to let go of a file, to say how it stands.
extension ExecutorPool {
    package func pause() { wait { $0.isPaused = true } }

    package var isPaused: Bool { shared.withLock { $0.pool.isPaused } }

    /// Goes on after ``pause()``, and tries a storage that was away again at once.
    package func resume() { goOn { $0.isPaused = false } }

    /// Begins no upload from now on, or begins uploads again. Those under way go on.
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

    /// Leaves the network to somebody whom a user waits for, until ``endYielding()`` was called as often.
    package func beginYielding() { shared.withLock { $0.pool.yields += 1 } }

    package func endYielding() {
        launch(
            shared.withLock { shared in
                shared.pool.yields -= 1
                return shared.pool.executorsToStart()
            })
    }

    /// The durable queue has changed: look again.
    ///
    /// - Parameter mayConcernHeld: whether jobs may have been queued anew that the pool holds already. It looks for
    ///   them again when it has let go of them.
    package func wake(mayConcernHeld: Bool = false) {
        shared.withLock { shared in
            shared.mayHaveMore = Set(TransferLane.allCases)
            if mayConcernHeld { shared.heldAtChange = shared.pool.held }
        }
        feed.notify()
    }

    /// Drops a job that waits in memory, or stops it if it runs. What becomes of it is the durable queue's matter.
    package func cancel(_ id: FileID) {
        shared.withLock { shared in
            if shared.pool.drop([id]) > 0 {
                // It may have been queued anew before it was dropped, and passed over as held.
                shared.mayHaveMore = Set(TransferLane.allCases)
            } else {
                shared.atWork[id]?.cancel()
            }
        }
        feed.notify()
        // A deletion may be the probe when no upload is left that could be.
        record.notify()
    }

    /// Drops those of the jobs that wait in memory; they are found again in the durable queue if they still stand
    /// there.
    ///
    /// - Returns: those that cannot be dropped, because their uploads are under way.
    package func withdraw(_ ids: Set<FileID>) -> Set<FileID> {
        let (count, underWay) = shared.withLock { ($0.pool.drop(ids), $0.pool.underWay) }
        if count > 0 { wake() }
        return ids.intersection(underWay)
    }

    // MARK: What it looks like

    /// The jobs whose uploads run, or have ended and wait for their outcome to be durable.
    package var underWayIDs: Set<FileID> { shared.withLock { $0.pool.underWay } }
    /// How many jobs are in memory.
    package var heldCount: Int { shared.withLock { $0.pool.held.count } }
    package var isIdle: Bool { shared.withLock { $0.pool.isIdle } }
    package var executorCount: Int { shared.withLock { $0.pool.executors } }
    package var runningCount: Int { shared.withLock { $0.pool.running.count } }
}
