import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("Meanings of statuses") struct ErrorClassificationTests {
    @Test("A 404 means a missing object only if the request named one")
    func missing() {
        #expect(ErrorClassification(status: 404, isAboutObject: true).code == .missing)
        #expect(ErrorClassification(status: 404, isAboutObject: false).code == .misconfigured)
    }

    @Test(
        "A proxy's status says nothing about an object and suggests checking the proxy",
        arguments: [
            (302, StorageError.Code.unreachable), (403, .unreachable), (404, .unreachable),
            (511, .unreachable), (400, .serverError), (418, .serverError), (501, .serverError), (505, .serverError),
        ])
    func foreign(_ status: Int, expected: StorageError.Code) {
        let meaning = ErrorClassification(foreign: HTTPResponse(head: HTTPResponseHead(status: status)))
        #expect(meaning.code == expected)
        #expect(meaning.advice?.contains("a proxy") == true)
    }

    @Test("A 407 is a misconfiguration that asks for the proxy's password")
    func proxyPassword() {
        let foreign = ErrorClassification(foreign: HTTPResponse(head: HTTPResponseHead(status: 407)))
        for meaning in [foreign, ErrorClassification(status: 407, isAboutObject: true)] {
            #expect(meaning.code == .misconfigured)
            #expect(meaning.advice?.contains("http://name:password@host:port") == true)
        }
    }

    @Test(
        "A page of nginx about the client's certificate is a misconfiguration",
        arguments: [
            ("No required SSL certificate was sent", "requires a client certificate"),
            ("The SSL certificate error", "does not accept the one that is set"),
        ])
    func clientCertificate(_ title: String, advice: String) {
        let page = "<html><head><title>400 \(title)</title></head></html>"
        let head = HTTPResponseHead(status: 400, headers: ["content-type": "text/html"])
        let meaning = ErrorClassification(foreign: HTTPResponse(head: head, body: Array(page.utf8)))
        #expect(meaning.code == .misconfigured)
        #expect(meaning.advice?.contains(advice) == true)
    }

    @Test(
        "A temporary status keeps its meaning regardless of its sender",
        arguments: [(408, StorageError.Code.timeout), (429, .throttled), (503, .serverError), (507, .noSpace)])
    func general(_ status: Int, expected: StorageError.Code) {
        let meaning = ErrorClassification(foreign: HTTPResponse(head: HTTPResponseHead(status: status)))
        #expect(meaning == ErrorClassification(expected))
    }

    @Test("A proxy's page with 412 says nothing about an object")
    func foreignCondition() {
        let head = HTTPResponseHead(status: 412, headers: ["content-type": "text/html"])
        #expect(ErrorClassification(foreign: HTTPResponse(head: head)).code == .serverError)
        #expect(ErrorClassification(foreign: HTTPResponse(head: HTTPResponseHead(status: 412))).code == .changed)
    }

    @Test("A 412 to a request without a condition is an error of the server")
    func withoutCondition() {
        let meaning = ErrorClassification(status: 412, isAboutObject: true)
        #expect(meaning.checked(status: 412, hasCondition: true).code == .changed)
        #expect(meaning.checked(status: 412, hasCondition: false).code == .serverError)
        let conflict = ErrorClassification(.changed)
        #expect(conflict.checked(status: 409, hasCondition: false).code == .changed)
        let protected = ErrorClassification(.forbidden)
        #expect(protected.checked(status: 412, hasCondition: false).code == .forbidden)
    }

    @Test(
        "Conditions are found by the names of header fields",
        arguments: [
            "If-Match", "if-none-match", "If", "Overwrite", "x-goog-if-generation-match", "x-ms-source-if-match",
        ])
    func conditions(_ name: String) throws {
        var headers: HTTPHeaders = ["content-type": "a/b", "x-amz-date": "if-match"]
        #expect(!headers.hasCondition)
        try headers.set(name, value: "*")
        #expect(headers.hasCondition)
    }
}
