import GRDB
import JournalStorage
import Logging
import ServiceLifecycle

/// A service that writes each change of the working database into the folder that is the journal.
struct FolderService: Service {
    let mirror: FolderMirror
    let database: any DatabaseWriter
    let logger: Logger
    /// The delay after a change that could not be written.
    var retryDelay = Duration.seconds(5)

    private static let tables: [any DatabaseRegionConvertible] = [
        Table("record"), Table("record_tag"), Table("tag"), Table("picture"),
    ]

    func run() async throws {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observation = DatabaseRegionObservation(tracking: Self.tables).start(in: database) { _ in
            continuation.finish()
        } onChange: { _ in
            continuation.yield()
        }
        defer { observation.cancel() }
        // Changes from before the observation.
        continuation.yield()
        await cancelWhenGracefulShutdown { [self] in
            for await _ in changes {
                while !Task.isCancelled, await !give() { try? await Task.sleep(for: retryDelay) }
            }
        }
    }

    /// Returns false if a change could not be written.
    private func give() async -> Bool {
        do {
            try await mirror.give()
        } catch is CancellationError {
            return true
        } catch {
            logger.error("The folder of the journal could not be written.", metadata: ["error": "\(error)"])
            return false
        }
        return true
    }
}
