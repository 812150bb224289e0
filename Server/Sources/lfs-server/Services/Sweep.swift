import LFSSigningServer
import Logging
import ServiceLifecycle

/// A service that removes leftovers of abandoned uploads to a folder once a day.
struct Sweep: Service {
    let service: SigningService
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await service.removeAbandonedUploads()
                } catch {
                    logger.error("Abandoned uploads could not be removed.", metadata: ["error": "\(error)"])
                }
                do { try await Task.sleep(for: .seconds(86_400)) } catch { return }
            }
        }
    }
}
