import LFSSigningServer
import LFSSyncServer
import Logging
import ServiceLifecycle

/// A service that removes the objects of deleted files from the storage after the delay, even if the devices that
/// deleted them are lost.
struct ObjectRemoval: Service {
    let sync: SyncService
    let signing: SigningService
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await sync.removeObjects { [signing] in try await signing.remove($0, of: $1) }
                } catch is CancellationError {
                    return
                } catch {
                    logger.error("Objects of deleted files could not be removed.", metadata: ["error": "\(error)"])
                }
                do { try await Task.sleep(for: .seconds(60)) } catch { return }
            }
        }
    }
}
