import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("A status") struct FailureMeaningTests {
    @Test("of 404 speaks of the object, where the request named one")
    func missing() {
        #expect(FailureMeaning(status: 404, isAboutObject: true).code == .missing)
        #expect(FailureMeaning(status: 404, isAboutObject: false).code == .misconfigured)
    }

    @Test(
        "of something else than the storage is no word on an object, and says what to look at",
        arguments: [
            (302, StorageError.Code.unreachable), (403, .unreachable), (404, .unreachable),
            (511, .unreachable), (400, .serverError), (418, .serverError), (501, .serverError), (505, .serverError),
        ])
    func foreign(_ status: Int, _ expected: StorageError.Code) {
        let meaning = FailureMeaning(foreign: HTTPResponse(head: HTTPResponseHead(status: status)))
        #expect(meaning.code == expected)
        #expect(meaning.advice?.contains("a proxy") == true)
    }

    @Test("of 407 is about a proxy that wants a password, which no waiting brings")
    func proxyPassword() {
        let foreign = FailureMeaning(foreign: HTTPResponse(head: HTTPResponseHead(status: 407)))
        for meaning in [foreign, FailureMeaning(status: 407, isAboutObject: true)] {
            #expect(meaning.code == .misconfigured)
            #expect(meaning.advice?.contains("http://name:password@host:port") == true)
        }
    }

    @Test(
        "that says when to come again counts whoever says it",
        arguments: [(408, StorageError.Code.timeout), (429, .throttled), (503, .serverError), (507, .noSpace)])
    func general(_ status: Int, _ expected: StorageError.Code) {
        let meaning = FailureMeaning(foreign: HTTPResponse(head: HTTPResponseHead(status: status)))
        #expect(meaning == FailureMeaning(expected))
    }
}
