import Foundation
import LFSHTTP
import Synchronization
import Testing

@testable import LFSCurl

@Suite("A request between its task and the engine", .timeLimit(.minutes(10)))
struct TransferTests {
    @Test("is cancelled also when that comes at the moment at which it is handed over")
    func cancelledWhileSubmitted() async throws {
        let isKnown = Mutex(false)
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let request = HTTPRequest(.get, try HTTPOrigin(url), "/")
        let task = Task {
            try await Transfer(request).result { _ in
                withUnsafeCurrentTask { $0?.cancel() }
                isKnown.withLock { $0 = true }
            } cancel: { transfer in
                // As the engine: what it does not know it cannot cancel.
                if isKnown.withLock({ $0 }) { transfer.end(.failure(Transfer.cancellation)) }
            }
        }
        do {
            _ = try await task.value
            Issue.record("It is answered.")
        } catch let error as HTTPError {
            #expect(error.code == .cancelled)
        }
    }
}
