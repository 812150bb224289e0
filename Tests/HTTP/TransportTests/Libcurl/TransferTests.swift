import Foundation
import LFSHTTP
import Synchronization
import Testing

@testable import LFSCurl

@Suite("Hand-over of requests to the engine", .timeLimit(.minutes(10)))
struct TransferTests {
    @Test("A request cancelled during its hand-over to the engine ends as cancelled")
    func cancelledWhileSubmitted() async throws {
        let isKnown = Mutex(false)
        let url = try #require(URL(string: "http://127.0.0.1:9"))
        let request = HTTPRequest(.get, origin: try HTTPOrigin(url), target: "/")
        let task = Task {
            try await Transfer(request).result { _ in
                withUnsafeCurrentTask { $0?.cancel() }
                isKnown.withLock { $0 = true }
            } cancel: { transfer in
                // Like the engine, this cannot cancel a request that it does not know.
                if isKnown.withLock({ $0 }) { transfer.end(.failure(Transfer.cancellation)) }
            }
        }
        do {
            _ = try await task.value
            Issue.record("The request was answered.")
        } catch let error as HTTPError {
            #expect(error.code == .cancelled)
        }
    }
}
