import LFSSyncServer
import Logging
import ServiceLifecycle

/// A service that removes the records of old deletions, and expired sessions, once a day.
struct Retention: Service {
    let sync: SyncService
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await sync.prune()
                } catch is CancellationError {
                    return
                } catch {
                    logger.error("The records of old deletions could not be removed.", metadata: ["error": "\(error)"])
                }
                do { try await Task.sleep(for: .seconds(86_400)) } catch { return }
            }
        }
    }
}
