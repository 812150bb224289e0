import Foundation
import JournalStorage
import Logging
import ServiceLifecycle

/// A service that deletes pictures finally when their time in the trash has ended.
struct Trash: Service {
    /// The number of days for which a deleted picture can be restored.
    static let days = 30

    let journal: DatabaseStorageService
    let logger: Logger

    /// Looks at the start, and then once an hour.
    func run() async throws {
        await empty(at: Date())
        let hours = AsyncStream { try? await Task.sleep(for: .seconds(3_600)) }
        for await _ in hours.cancelOnGracefulShutdown() { await empty(at: Date()) }
    }

    /// Deletes the pictures whose time has ended. After a failure, the next look tries again.
    func empty(at now: Date) async {
        do {
            try await journal.expireTrash(after: Self.days, now: now)
        } catch {
            logger.error("Deleted pictures are kept longer.", metadata: ["error": "\(error)"])
        }
    }
}
