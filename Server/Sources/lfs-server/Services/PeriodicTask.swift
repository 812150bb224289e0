import LFSSigningServer
import LFSSyncServer
import Logging
import ServiceLifecycle

/// A service that repeats a task until the server stops. One of several servers runs it at a time.
struct PeriodicTask: Service {
    /// The name of the task, which all servers share.
    let name: String
    let interval: Duration
    /// The message for the log when the task fails.
    let failure: Logger.Message
    /// The service whose database the servers share, or nil without sync.
    let sync: SyncService?
    let logger: Logger
    let body: @Sendable () async throws -> Void

    /// A failure is often one of the connection to the database, which ends soon.
    private static let pauseAfterFailure = Duration.seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var pause = interval
                do {
                    if let sync { try await sync.runAlone(name, body) } else { try await body() }
                } catch is CancellationError {
                    return
                } catch {
                    logger.error(failure, metadata: ["error": "\(error)"])
                    pause = min(interval, Self.pauseAfterFailure)
                }
                do { try await Task.sleep(for: pause) } catch { return }
            }
        }
    }
}

extension PeriodicTask {
    /// Removes leftovers of abandoned uploads to a folder once a day.
    static func sweep(_ signing: SigningService, sync: SyncService?, logger: Logger) -> PeriodicTask {
        PeriodicTask(
            name: "sweep", interval: .seconds(86_400), failure: "Abandoned uploads could not be removed.", sync: sync,
            logger: logger
        ) { try await signing.removeAbandonedUploads() }
    }

    /// Removes the records of old deletions, and expired sessions, once a day.
    static func prune(_ sync: SyncService, logger: Logger) -> PeriodicTask {
        PeriodicTask(
            name: "prune", interval: .seconds(86_400),
            failure: "The records of old deletions could not be removed.", sync: sync, logger: logger
        ) { try await sync.prune() }
    }

    /// Removes the objects of deleted files from the storage after the delay, even if the devices that deleted them are
    /// lost.
    static func removal(_ sync: SyncService, signing: SigningService, logger: Logger) -> PeriodicTask {
        PeriodicTask(
            name: "removal", interval: .seconds(60), failure: "Objects of deleted files could not be removed.",
            sync: sync, logger: logger
        ) { try await sync.removeObjects { [signing] in try await signing.remove($0, of: $1) } }
    }
}
