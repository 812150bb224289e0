import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("A missing reply") struct StorageErrorTests {
    @Test(
        "means to a storage what it can do about it",
        arguments: [
            (HTTPError.Code.invalidRequest, StorageError.Code.invalidRequest), (.untrusted, .misconfigured),
            (.wrongProtocol, .misconfigured), (.unreachable, .unreachable), (.closed, .unreachable),
            (.connectionLost, .serverError), (.invalidReply, .serverError), (.timeout, .timeout),
            (.bodyUnreadable, .sourceChanged), (.cancelled, .cancelled),
        ])
    func codes(_ code: HTTPError.Code, _ expected: StorageError.Code) throws {
        let key = try ObjectKey("a/b")
        let error = StorageError(HTTPError(code, "It is so."), key: key)
        #expect(error.code == expected)
        #expect(error.message == "It is so.")
        #expect(error.key == key)
        #expect((error.cause as? HTTPError)?.code == code)
    }
}
