import LFSSigning
import Logging
import ServiceLifecycle

/// Removes once a day what uploads to a folder have left.
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
