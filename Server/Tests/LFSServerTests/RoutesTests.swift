import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LFSSigning
import Logging
import NIOCore
import Testing

@testable import LFSServer

@Suite("The routes of signed URLs")
struct RoutesTests {
    private func serving(
        limits: SigningLimits = SigningLimits(),
        _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("routes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let secret = try SigningSecret(SigningSecret.random())
        let url = try #require(URL(string: "http://app.example/lfs"))
        let service = try SigningService(
            backend: .directory(at: folder.appendingPathComponent("data"), publicURL: url, secret: secret),
            access: .claimedNamespaces, secret: secret, limits: limits)
        let router = Router()
        router.addMiddleware { ReplyMiddleware() }
        SigningRoutes(service) { request, _ in request.headers[.authorization] }.add(to: router.group("lfs"))
        try await Application(router: router).test(.router) { try await body($0) }
    }

    private static let head = #"{"version":1,"operation":"head","objects":[{"key":"space/one"}]}"#

    @Test func `a request without a token is refused before its body is looked at`() async throws {
        try await serving { client in
            for method in [HTTPRequest.Method.get, .post] {
                try await client.execute(uri: "/lfs", method: method, body: ByteBuffer(string: "{")) { reply in
                    #expect(reply.status == .unauthorized && reply.headers[.wwwAuthenticate] == "Bearer")
                }
            }
        }
    }

    @Test func `every reply has the protocol's form and names its request`() async throws {
        try await serving { client in
            let cases: [(String, HTTPRequest.Method, String, Int)] = [
                ("/lfs", .get, "", 200), ("/lfs", .post, Self.head, 200), ("/lfs", .post, "{", 400),
                ("/lfs", .post, String(repeating: " ", count: (1 << 20) + 1), 413), ("/elsewhere", .get, "", 404),
                ("/lfs/bytes/space/one", .get, "", 403), ("/lfs/bytes/space/one?signature=00", .put, "", 403),
                ("/lfs/bytes/..%2f..%2fetc/passwd", .get, "", 403),
            ]
            for (uri, method, body, status) in cases {
                try await client.execute(
                    uri: uri, method: method, headers: [.authorization: "alice"], body: ByteBuffer(string: body)
                ) { reply in
                    #expect(reply.status.code == status, "\(method) \(uri)")
                    #expect(reply.headers[.contentType] == "application/json")
                    #expect(HTTPField.Name("x-request-id").flatMap { reply.headers[$0] }?.isEmpty == false)
                    #expect(String(buffer: reply.body).contains("\"version\":1"))
                }
            }
        }
    }

    @Test func `bytes go in and come out through the server's own URLs`() async throws {
        try await serving { client in
            func ask(_ text: String) async throws -> [String: Any] {
                let reply = try await client.execute(
                    uri: "/lfs", method: .post, headers: [.authorization: "alice"], body: ByteBuffer(string: text))
                let object = try JSONSerialization.jsonObject(with: Data(reply.body.readableBytesView))
                return try #require(((object as? [String: Any])?["objects"] as? [[String: Any]])?.first)
            }
            func target(_ answer: [String: Any], _ operation: String) throws -> String {
                let action = (answer["actions"] as? [String: Any])?[operation] as? [String: Any]
                return String(try #require(action?["href"] as? String).dropFirst("http://app.example".count))
            }
            let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            let put = try target(
                try await ask(
                    #"{"version":1,"operation":"upload","objects":[{"key":"space/one","size":3,"#
                        + #""sha256":"\#(sha256)"}]}"#
                ),
                "upload")
            for (body, status) in [("abd", 400), ("abcd", 403), ("abc", 200), ("abc", 412)] {
                let reply = try await client.execute(
                    uri: put, method: .put, headers: [.contentLength: "\(body.utf8.count)"],
                    body: ByteBuffer(string: body))
                #expect(reply.status.code == status, "\(body)")
            }
            let get = try target(
                try await ask(#"{"version":1,"operation":"download","objects":[{"key":"space/one"}]}"#), "download")
            let whole = try await client.execute(uri: get, method: .get)
            #expect(String(buffer: whole.body) == "abc")
            let part = try await client.execute(uri: get, method: .get, headers: [.range: "bytes=1-1"])
            #expect(part.status == .partialContent && String(buffer: part.body) == "b")
            let changed = try await client.execute(uri: get, method: .get, headers: [.ifMatch: "\"other\""])
            #expect(changed.status == .preconditionFailed)
            #expect(try await client.execute(uri: get + "0", method: .get).status == .forbidden)
        }
    }
}
