import Crypto
import Foundation
import LFSSigningServer
import Testing

@Suite("Function host of the signing service", .timeLimit(.minutes(10)))
struct FunctionHostTests {
    private let host = Signing()

    /// Runs a body with a service whose URLs lead to a folder.
    private func run(_ body: (SigningService) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("function-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let secret = try SigningSecret(Data(repeating: 7, count: 32))
        let url = try #require(URL(string: "https://app.example/lfs"))
        let backend = try SigningBackend.directory(at: folder, publicURL: url, secret: secret, reserve: 0)
        let service = try SigningService(backend: backend, access: .claimedNamespaces, secret: secret)
        try await body(service)
        await service.shutdown()
    }

    /// Passes a call as JSON, as a gateway does, and returns the reply as JSON.
    private func call(
        _ service: SigningService, method: String = "POST", token: String? = "Bearer t1", body: String? = nil,
        isEncoded: Bool = false
    ) async throws -> (status: Int, headers: [String: String], body: [String: Any]) {
        var call: [String: Any] = ["method": method, "headers": token.map { ["authorization": $0] } ?? [:]]
        if let body {
            call["body"] = isEncoded ? Data(body.utf8).base64EncodedString() : body
            call["isBase64Encoded"] = isEncoded
        }
        let read = try JSONDecoder().decode(
            Signing.FunctionCall.self, from: try JSONSerialization.data(withJSONObject: call))
        let reply = try await host.handle(read, service: service) { $0 == "t1" ? "ann" : nil }
        let text = try JSONEncoder().encode(reply)
        let fields = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        let json = try #require(fields["body"] as? String)
        return (
            try #require(fields["statusCode"] as? Int), reply.headers,
            try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        )
    }

    /// Returns the answer for the object of a request.
    private func answer(
        _ service: SigningService, operation: String, object: String, isEncoded: Bool = false
    ) async throws -> [String: Any] {
        let body = #"{"version":1,"operation":"\#(operation)","objects":[\#(object)]}"#
        let reply = try await call(service, body: body, isEncoded: isEncoded)
        #expect(reply.status == 200)
        return try #require((reply.body["objects"] as? [[String: Any]])?.first)
    }

    /// Returns the request to the URL of an answer.
    private func request(_ answer: [String: Any], operation: String, byteCount: Int?) throws -> BytesRequest {
        let action = try #require((answer["actions"] as? [String: Any])?[operation] as? [String: Any])
        let parts = try #require((action["href"] as? String).flatMap { URLComponents(string: $0) })
        let mark = try #require(parts.percentEncodedPath.range(of: "/bytes/"))
        var headers = action["header"] as? [String: String] ?? [:]
        headers["content-length"] = byteCount.map(String.init)
        return BytesRequest(
            key: String(parts.percentEncodedPath[mark.upperBound...]), query: parts.percentEncodedQuery ?? "",
            headers: headers)
    }

    @Test("An object is uploaded, confirmed and downloaded through the handler", arguments: [false, true])
    func workflow(isEncoded: Bool) async throws {
        try await run { service in
            let bytes = Array("a picture".utf8)
            let sha256 = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
            let object = #"{"key":"space/one","size":\#(bytes.count),"sha256":"\#(sha256)"}"#
            let upload = try await answer(service, operation: "upload", object: object, isEncoded: isEncoded)
            let put = try request(upload, operation: "upload", byteCount: bytes.count)
            let sent = await service.put(
                put,
                body: AsyncStream {
                    $0.yield(bytes); $0.finish()
                })
            #expect((200...299).contains(sent.status))
            let confirmed = try await answer(service, operation: "confirm", object: object, isEncoded: isEncoded)
            #expect((confirmed["object"] as? [String: Any])?["sha256"] as? String == sha256)
            let download = try await answer(
                service, operation: "download", object: #"{"key":"space/one"}"#, isEncoded: isEncoded)
            let reply = await service.get(try request(download, operation: "download", byteCount: nil))
            var received: [UInt8] = []
            switch reply.body {
            case .whole(let whole): received = whole
            case .file(let pieces): for try await piece in pieces { received += piece }
            }
            #expect(reply.status == 200 && received == bytes)
        }
    }

    @Test("The handler describes the server to users only, and refuses other requests")
    func refusals() async throws {
        try await run { service in
            let description = try await call(service, method: "GET")
            #expect(description.status == 200 && description.body["version"] as? Int == 1)
            #expect(description.headers["content-type"] == "application/json")
            for token in [nil, "", "Bearer", "Bearer t2", "Basic t1", "t1"] {
                let reply = try await call(service, method: "GET", token: token)
                #expect(reply.status == 401 && reply.headers["www-authenticate"] == "Bearer")
            }
            #expect(try await call(service, method: "DELETE").status == 405)
            for body in [nil, "", "[]", "not JSON"] { #expect(try await call(service, body: body).status == 400) }
        }
    }
}
