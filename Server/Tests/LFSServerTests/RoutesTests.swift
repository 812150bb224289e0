import Foundation
import HTTPTypes
import Hummingbird
import LFSSigningServer
import Logging
import Testing

@testable import LFSServer

@Suite("The routes of signed URLs")
struct RoutesTests {
    private func serving(
        limits: SigningLimits = SigningLimits(),
        _ body: @escaping @Sendable (RunningServer) async throws -> Void
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
        SigningRoutes(service) { request, _ in
            request.headers[.authorization].map { SigningCaller($0) }
        }.add(to: router.group("lfs"))
        try await LFSServerTests.serving(router, body)
    }

    private static let head = #"{"version":1,"operation":"head","objects":[{"key":"space/one"}]}"#

    @Test func `A signing request without a token is refused before its body is read`() async throws {
        try await serving { server in
            for method in ["GET", "POST"] {
                let reply = try await server.send(method, path: "/lfs", body: method == "POST" ? "{" : "")
                #expect(reply.status == 401 && reply.headers["www-authenticate"] == "Bearer")
            }
        }
    }

    @Test func `Every reply of the signing routes is JSON with the version and a request id`() async throws {
        try await serving { server in
            let cases = [
                ("/lfs", "GET", "", 200), ("/lfs", "POST", Self.head, 200), ("/lfs", "POST", "{", 400),
                ("/lfs", "POST", String(repeating: " ", count: (1 << 20) + 1), 413), ("/elsewhere", "GET", "", 404),
                ("/lfs/bytes/space/one", "GET", "", 403), ("/lfs/bytes/space/one?signature=00", "PUT", "", 403),
                ("/lfs/bytes/..%2f..%2fetc/passwd", "GET", "", 403),
            ]
            for (path, method, body, status) in cases {
                let reply = try await server.send(method, path: path, headers: ["Authorization": "alice"], body: body)
                #expect(reply.status == status, "\(method) \(path)")
                #expect(reply.headers["content-type"] == "application/json")
                #expect(reply.headers["x-request-id"]?.isEmpty == false)
                #expect(reply.text.contains("\"version\":1"))
            }
        }
    }

    @Test func `Bytes are uploaded and downloaded through the server's own URLs`() async throws {
        try await serving { server in
            func ask(_ text: String) async throws -> [String: Any] {
                let reply = try await server.send("POST", path: "/lfs", headers: ["Authorization": "alice"], body: text)
                let object = try JSONSerialization.jsonObject(with: reply.body)
                return try #require(((object as? [String: Any])?["objects"] as? [[String: Any]])?.first)
            }
            func target(_ answer: [String: Any], operation: String) throws -> String {
                let action = (answer["actions"] as? [String: Any])?[operation] as? [String: Any]
                return String(try #require(action?["href"] as? String).dropFirst("http://app.example".count))
            }
            let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            let put = try target(
                try await ask(
                    #"{"version":1,"operation":"upload","objects":[{"key":"space/one","size":3,"#
                        + #""sha256":"\#(sha256)"}]}"#
                ),
                operation: "upload")
            for (body, status) in [("abd", 400), ("abcd", 403), ("abc", 200), ("abc", 412)] {
                #expect(try await server.send("PUT", path: put, body: body).status == status, "\(body)")
            }
            let get = try target(
                try await ask(#"{"version":1,"operation":"download","objects":[{"key":"space/one"}]}"#),
                operation: "download")
            #expect(try await server.send("GET", path: get).text == "abc")
            let part = try await server.send("GET", path: get, headers: ["Range": "bytes=1-1"])
            #expect(part.status == 206 && part.text == "b")
            #expect(try await server.send("GET", path: get, headers: ["If-Match": "\"other\""]).status == 412)
            #expect(try await server.send("GET", path: get + "0").status == 403)
        }
    }
}
