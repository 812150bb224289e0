import Foundation
import GRDB
import Logging

/// An observer of GRDB's notifications, which suspends and resumes a manager.
final class SuspensionObserver: Sendable {
    private enum Request: Sendable { case suspend, resume }

    /// The registrations. `NotificationCenter` is safe to use from any thread, and only passes them back to itself.
    nonisolated(unsafe) private let registrations: [any NSObjectProtocol]
    private let requests: AsyncStream<Request>.Continuation
    private let task: Task<Void, Never>

    init(_ suspension: Suspension, logger: Logger) {
        let (stream, requests) = AsyncStream<Request>.makeStream()
        self.requests = requests
        task = Task {
            for await request in stream { await Self.carryOut(request, of: suspension, logger: logger) }
        }
        let center = NotificationCenter.default
        registrations = [
            center.addObserver(forName: Database.suspendNotification, object: nil, queue: nil) { _ in
                // At once, because the process may be suspended soon. A stopped manager has nothing to suspend.
                try? suspension.request()
                requests.yield(.suspend)
            },
            center.addObserver(forName: Database.resumeNotification, object: nil, queue: nil) { _ in
                requests.yield(.resume)
            },
        ]
    }

    deinit {
        unregister()
        requests.finish()
    }

    /// Ends the observation, and returns when no suspension or resumption is running.
    func end() async {
        unregister()
        requests.finish()
        await task.value
    }

    private func unregister() {
        for registration in registrations { NotificationCenter.default.removeObserver(registration) }
    }

    private static func carryOut(_ request: Request, of suspension: Suspension, logger: Logger) async {
        do {
            switch request {
            case .suspend: try await suspension.suspend(finishingWithin: .zero)
            case .resume: try await suspension.resume()
            }
        } catch let error as LFSError where error.code == .notRunning {
            // The manager was stopped, which released its locks.
        } catch {
            logger.warning(
                "the notification of GRDB was not carried out",
                metadata: ["lfs.request": "\(request)", "error.message": "\(error)"])
        }
    }
}
