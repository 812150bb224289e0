import CCurl
import Foundation
import LFSHTTP
import LFSSystem

/// The thread of the engine. It starts with the first request or job, and ends after ``Inbox/close()``.
///
/// It also runs tasks that prefer it as their executor (SE-0417). Such a task sends a request and takes its reply
/// without a handover between threads, which would cost as much as a small request. It must not block for long, because
/// all requests of the engine wait for it.
final class EngineThread: TaskExecutor {
    typealias Start = @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void

    /// libcurl requires this call once per process, before all others.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    let inbox = Inbox()
    private let options: HTTPOptions
    private let time: @Sendable () -> ContinuousClock.Instant
    private let start: Start

    init(_ options: HTTPOptions, time: @escaping @Sendable () -> ContinuousClock.Instant, start: @escaping Start) {
        self.options = options
        self.time = time
        self.start = start
    }

    func submit(_ transfer: Transfer) {
        switch inbox.submit(transfer) {
        case .running: break
        case .start: launch()
        case .closed: transfer.end(.failure(HTTPError.closed))
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch inbox.submit(job) {
        case .running: break
        case .start: launch()
        case .closed: runElsewhere([job])
        }
    }

    /// Runs a job on the current thread.
    func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }

    /// Runs jobs on other threads. A job cannot be refused, because its task would never end.
    func runElsewhere(_ jobs: [UnownedJob]) {
        for job in jobs { BlockingPool.uploads.start { self.run(job) } }
    }

    private func launch() {
        do throws(SystemError) {
            try start { self.runLoop() }
        } catch {
            runElsewhere(inbox.refuse(.noThread(error)))
        }
    }

    /// Runs the event loop on the current thread, until the inbox is closed.
    func runLoop() {
        Self.blockBrokenPipeSignal()
        guard Self.isReady, let loop = EventLoop(options, thread: self, time: time) else {
            inbox.close()
            return runElsewhere(inbox.end())
        }
        loop.run()
    }

    /// Blocks SIGPIPE for this thread only. If a connection breaks during a TLS write, the signal would end the
    /// process. libcurl reports the broken connection instead.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
