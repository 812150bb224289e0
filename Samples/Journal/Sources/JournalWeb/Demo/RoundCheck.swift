import LFS
import Logging
import ServiceLifecycle

/// A service of a demonstration that compares the bytes of all files after each round: after a fault was switched off,
/// and after the process was killed.
final class RoundCheck: Service {
    /// The result of a comparison.
    struct Round: Hashable, Sendable {
        let number: Int
        /// The event before the comparison as a clause, such as "the storage was away".
        let cause: String
        /// The numbers of local copies and of objects whose bytes were compared.
        let copies: Int
        let objects: Int
        /// The number of files that are not right.
        let findings: Int
    }

    /// The last result. Nil before the first one.
    let last = Watched<Round?>(nil)
    private let lfs: LFSManager
    private let faults: DemoStorage
    private let logger: Logger
    private let causes: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init(_ lfs: LFSManager, faults: DemoStorage, logger: Logger) {
        self.lfs = lfs
        self.faults = faults
        self.logger = logger
        (causes, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Requests a comparison as soon as all files are uploaded.
    func request(after cause: String) { continuation.yield(cause) }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { [self] in
                for await cause in causes {
                    try await waitForUploads()
                    // A fault would be read as damage.
                    if faults.active.isEmpty { try await check(after: cause) }
                }
            }
        } catch {
            guard Task.isShuttingDownGracefully || error is CancellationError else { throw error }
        }
    }

    /// Waits until all files are uploaded. The manager may start after this service.
    private func waitForUploads() async throws {
        while true {
            do {
                try await lfs.waitForUploads()
                return
            } catch let error as LFSError where error.code == .notRunning {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private func check(after cause: String) async throws {
        var options = VerifyOptions()
        options.checksContent = true
        options.readsRemote = true
        do {
            let report = try await lfs.verify(options) { _ in }
            last.change { round in
                round = Round(
                    number: (round?.number ?? 0) + 1, cause: cause, copies: report.localFiles, objects: report.objects,
                    findings: report.findings.values.reduce(0, +))
            }
        } catch let error as LFSError where error.code == .storage {
            logger.notice("The files are compared after the next round.", metadata: ["error": "\(error)"])
        }
    }
}
