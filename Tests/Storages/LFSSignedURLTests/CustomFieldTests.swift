import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite("Custom header fields behind a signing server", .timeLimit(.minutes(10)))
struct CustomFieldTests {
    @Test("The signing server gets the custom fields, and its store does not", arguments: [false, true])
    func fields(isInParts: Bool) async throws {
        let fake = FakeSigner()
        if isInParts { fake.cut(from: 1) }
        let storage = try fake.storage { $0.headers = ["X-Door": "canary"] }
        let bytes = SampleBytes.make((2 << 20) + 10)
        _ = try await storage.put(bytes)
        #expect(try await storage.contents() == bytes)
        let asked = fake.requests.filter { $0.origin.host == "app" }
        let sent = fake.requests.filter { $0.origin.host == "store" }
        #expect(asked.count + sent.count == fake.requests.count)
        #expect(!asked.isEmpty && asked.allSatisfy { $0.headers["x-door"] == "canary" })
        #expect(sent.map(\.method) == (isInParts ? [.put, .put, .put, .get] : [.put, .get]))
        #expect(sent.allSatisfy { $0.headers["x-door"] == nil })
    }
}
