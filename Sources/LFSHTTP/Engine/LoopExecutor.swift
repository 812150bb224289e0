/// Runs pieces of tasks on the engine's thread, between its looks at the network.
///
/// For tasks that do little between two requests: they need no other thread, so none has to be woken for them. What runs
/// here must not block and must not take long.
package final class LoopExecutor: TaskExecutor {
    private let inbox: Inbox
    private let startThread: @Sendable (LoopExecutor) -> Void

    init(_ inbox: Inbox, startThread: @escaping @Sendable (LoopExecutor) -> Void) {
        self.inbox = inbox
        self.startThread = startThread
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch inbox.run(job) {
        case .running: break
        case .start: startThread(self)
        // A task outlives the engine that it prefers.
        case .closed: Self.runElsewhere([job])
        }
    }

    /// On the engine's thread.
    func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }

    static func runElsewhere(_ jobs: [UnownedJob]) {
        for job in jobs { globalConcurrentExecutor.enqueue(job) }
    }
}
