import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSSignedURL

@Suite(
    "Download URLs of real signing servers", .enabled(if: SigningServerProcess.isAvailable), .timeLimit(.minutes(10)))
struct ServerURLTests {
    private let bytes = SampleBytes.make(10_000)
    /// The longest time that a caller may accept. The server's own time is shorter.
    private let longest = Duration.seconds(604_800)

    @Test("A URL downloads its object without a token", arguments: SigningServerProcess.all)
    func downloaded(_ server: SigningServerProcess) async throws {
        let storage = try server.storage()
        let key = try await stored("one", in: Self.namespace(), on: storage)
        let url = try await storage.downloadURL(for: key, expires: longest).absoluteString
        let reply = try await plain(.get, text: url)
        #expect(reply.status == 200)
        #expect(reply.body == bytes)
        try await storage.delete(key, abandoning: nil)
        await storage.shutdown()
    }

    @Test("A changed URL is refused", arguments: SigningServerProcess.all)
    func changed(_ server: SigningServerProcess) async throws {
        let storage = try server.storage()
        let namespace = Self.namespace()
        let key = try await stored("one", in: namespace, on: storage)
        let other = try await stored("two", in: namespace, on: storage)
        let url = try await storage.downloadURL(for: key, expires: longest).absoluteString
        for forged in [
            url.replacing(key.rawValue, with: other.rawValue), Self.withLaterEnd(url), Self.withOtherSignature(url),
            String(url.prefix { $0 != "?" }),
        ] {
            #expect(forged != url)
            #expect(try await plain(.get, text: forged).status >= 400, "\(forged)")
        }
        #expect(try await plain(.delete, text: url).status >= 400)
        #expect(try await plain(.get, text: url).body == bytes)
        for key in [key, other] { try await storage.delete(key, abandoning: nil) }
        await storage.shutdown()
    }

    /// Returns the URL with a longer period (S3) or a later end (Azure, folders).
    private static func withLaterEnd(_ url: String) -> String {
        url.replacing(/(?<name>X-Amz-Expires=|expires=)(?<digits>\d+)/) { "\($0.name)\($0.digits)0" }
            .replacing(/(?<name>[?&]se=)\d{4}/) { "\($0.name)2999" }
    }

    private static func withOtherSignature(_ url: String) -> String {
        url.replacing(/(?<name>X-Amz-Signature=|signature=|sig=)(?<first>[^&])/) { match in
            "\(match.name)\(match.first == "a" ? "b" : "a")"
        }
    }

    /// Returns a new namespace, which belongs to its first writer.
    private static func namespace() -> String { "test-\(UUID().uuidString.lowercased())" }

    /// Uploads an object and returns its key.
    private func stored(
        _ name: String, in namespace: String, on storage: SignedURLStorage
    ) async throws -> ObjectKey {
        let key = try ObjectKey("\(namespace)/\(name)")
        _ = try await storage.upload(.temporary(bytes), to: key, session: UploadSession())
        return key
    }

    /// Sends a request like a client that has only the URL.
    private func plain(_ method: HTTPRequest.Method, text: String) async throws -> HTTPResponse {
        let engine = ServerTests.transport()
        let url = try #require(URL(string: text))
        let origin = try HTTPOrigin(url)
        let target = String(text.dropFirst(origin.description.count))
        let reply = try await engine.send(HTTPRequest(method, origin: origin, target: target))
        await engine.shutdown()
        return reply
    }
}
