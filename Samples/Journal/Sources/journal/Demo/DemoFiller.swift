import Foundation
import JournalStorage
import Logging
import ServiceLifecycle

/// A service that fills an empty journal with sample records and photographs in the background, on request.
struct DemoFiller: Service {
    private let journal: DatabaseStorageService
    private let logger: Logger
    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(_ journal: DatabaseStorageService, logger: Logger) {
        self.journal = journal
        self.logger = logger
        (requests, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Requests that the journal is filled if it is empty.
    func request() { continuation.yield() }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in requests { await fill() }
        }
    }

    /// A failure leaves the records that were added before.
    private func fill() async {
        do {
            guard try await journal.loadRecords(before: nil, limit: 1).isEmpty else { return }
            let demo = DemoJournal(records: 40, pictures: 60, seed: 1, until: Date(), timeZone: .current)
            try await demo.fill(journal, isPhotographic: true)
        } catch {
            logger.error("The journal is not filled completely.", metadata: ["error": "\(error)"])
        }
    }
}
