import Foundation
import LFSHTTP
import LFSStorage
import Synchronization
import Testing

@testable import LFSHTTPStorage

@Suite("Custom header fields")
struct CustomHeadersTests {
    /// A transport that records requests and replies with an empty page.
    private final class RecordingTransport: HTTPTransport {
        private let sent = Mutex<[HTTPRequest]>([])
        var requests: [HTTPRequest] { sent.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            sent.withLock { $0.append(request) }
            return HTTPResponse(head: HTTPResponseHead(status: 200))
        }

        func shutdown() async {}
    }

    private let origin = HTTPOrigin(isSecure: true, host: "files.example", port: 443)
    private let store = HTTPOrigin(isSecure: true, host: "store.example", port: 443)

    private func options(_ headers: [String: String]) -> ConnectionOptions {
        var options = ConnectionOptions()
        options.headers = headers
        return options
    }

    @Test("A request to the storage's server gets the custom fields")
    func added() async throws {
        let base = RecordingTransport()
        let transport = try options(["X-Door": "canary"]).transport(base, to: origin)
        _ = try await transport.send(HTTPRequest(.get, origin: origin, target: "/"))
        #expect(base.requests.map { $0.headers["x-door"] } == ["canary"])
    }

    @Test("A request to another server does not get the custom fields")
    func otherServer() async throws {
        let base = RecordingTransport()
        let transport = try options(["X-Door": "canary"]).transport(base, to: origin)
        _ = try await transport.send(HTTPRequest(.put, origin: store, target: "/object?signature=1"))
        #expect(base.requests.map { $0.headers["x-door"] } == [nil])
    }

    @Test("A field of the request has precedence over a custom field")
    func precedence() async throws {
        let base = RecordingTransport()
        let transport = try options(["X-Door": "canary"]).transport(base)
        var request = HTTPRequest(.get, origin: origin, target: "/")
        try request.headers.set("x-door", value: "own")
        _ = try await transport.send(request)
        #expect(base.requests.first?.headers.fields.map(\.value) == ["own"])
    }

    @Test(
        "A field that LFS or HTTP sets is refused",
        arguments: [
            "Authorization", "host", "Content-Length", "content-type", "Range", "If-None-Match", "X-Amz-Date",
            "x-ms-version", "Transfer-Encoding", "Proxy-Authorization", "Connection", "Expect", "Depth",
        ])
    func reserved(_ name: String) {
        let error = #expect(throws: StorageError.self) { try options([name: "canary"]).transport() }
        #expect(error?.code == .invalidRequest && error?.message.contains(name) == true)
        #expect(error?.message.contains("canary") == false)
    }

    @Test(
        "An invalid field is refused without its value in the message", arguments: ["X Door", "", "X-Door:", "X-Door"])
    func invalid(_ name: String) {
        let error = #expect(throws: StorageError.self) { try options([name: "canary\r\nhost: evil"]).transport() }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("canary") == false)
    }

    @Test("A client certificate is encoded with its bytes and its password")
    func encoded() throws {
        let certificate = ClientCertificate(Data([0x30, 0x82, 0xFF]), password: "a secret")
        let json = try JSONEncoder().encode(certificate)
        let fields = try #require(try JSONSerialization.jsonObject(with: json) as? [String: String])
        #expect(fields == ["data": "MIL/", "password": "a secret"])
        #expect(try JSONDecoder().decode(ClientCertificate.self, from: json) == certificate)
    }

    @Test("A dump of the options contains no secret")
    func dumped() {
        var options = options(["X-Door": "canary"])
        options.clientCertificate = ClientCertificate(Data("canary".utf8), password: "canary")
        var text = "\(options) \(String(reflecting: options))"
        dump(options, to: &text)
        #expect(!text.contains("canary") && text.contains("X-Door"))
    }
}
