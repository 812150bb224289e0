import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("Errors without a reply") struct StorageErrorTests {
    @Test(
        "Each transport error has its storage error",
        arguments: [
            (HTTPError.Code.invalidRequest, StorageError.Code.invalidRequest), (.untrusted, .misconfigured),
            (.wrongProtocol, .misconfigured), (.unreachable, .unreachable), (.closed, .unreachable),
            (.connectionLost, .serverError), (.invalidReply, .serverError), (.timeout, .timeout),
            (.bodyUnreadable, .sourceChanged), (.cancelled, .cancelled),
        ])
    func codes(_ code: HTTPError.Code, expected: StorageError.Code) throws {
        let key = try ObjectKey("a/b")
        let error = StorageError(HTTPError(code, message: "It is so."), key: key)
        #expect(error.code == expected)
        #expect(error.message == "It is so.")
        #expect(error.key == key)
        #expect((error.cause as? HTTPError)?.code == code)
    }

    @Test("Transport errors and cancellations are translated, and other errors pass")
    func translation() async throws {
        struct Refusal: Error {}
        let key = try ObjectKey("a/b")
        func code(_ thrown: any Error) async throws -> StorageError.Code? {
            let error = await #expect(throws: StorageError.self) {
                try await StorageError.translating(key) { throw thrown }
            }
            #expect(error?.key == key)
            return error?.code
        }
        try await #expect(code(HTTPError(.timeout, message: "It is so.")) == .timeout)
        try await #expect(code(CancellationError()) == .cancelled)
        await #expect(throws: Refusal.self) { try await StorageError.translating(key) { throw Refusal() } }
        try await #expect(StorageError.translating(key) { 7 } == 7)
    }
}
