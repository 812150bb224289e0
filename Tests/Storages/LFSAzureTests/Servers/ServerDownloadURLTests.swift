import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Download URLs on an Azure server", .enabled(if: AzureServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerDownloadURLTests {
    private let key = Result { try ObjectKey("space/one") }
    private let bytes = SampleBytes.make(10_000)

    /// The credentials that can sign URLs.
    enum Signer: CaseIterable, Sendable {
        case accountKey, token

        func credentials(_ server: AzureServer) -> AzureCredentials {
            switch self {
            case .accountKey: .sharedKey(server.accountKey)
            case .token:
                .clientSecret(
                    tenant: server.tenant, client: "client-a", secret: server.clientSecret,
                    authority: server.authority)
            }
        }
    }

    @Test(
        "A signed URL downloads its object without credentials", arguments: AzureServer.all, Signer.allCases)
    func downloaded(_ server: AzureServer, signer: Signer) async throws {
        let (storage, _) = try await stored(server, signer: signer)
        let url = try await storage.downloadURL(for: key.get(), expires: .seconds(60)).absoluteString
        let reply = try await plain(.get, text: url)
        #expect(reply.status == 200)
        #expect(reply.body == bytes)
        await storage.shutdown()
    }

    @Test("A changed URL is refused", arguments: AzureServer.all, Signer.allCases)
    func changed(_ server: AzureServer, signer: Signer) async throws {
        let (storage, _) = try await stored(server, signer: signer)
        let other = try ObjectKey("space/two")
        _ = try await storage.upload(.temporary([1, 2, 3]), to: other, session: UploadSession())
        let url = try await storage.downloadURL(for: key.get(), expires: .seconds(60)).absoluteString
        for forged in [
            url.replacing(try key.get().rawValue, with: other.rawValue), url.replacing("sp=r&", with: "sp=rd&"),
            url.replacing(/se=\d{4}/, with: "se=2999"), url.replacing("sig=", with: "sig=A"),
            String(url.prefix { $0 != "?" }),
        ] {
            #expect(forged != url)
            #expect(try await plain(.get, text: forged).status >= 400, "\(forged)")
        }
        #expect(try await plain(.delete, text: url).status == 403)
        #expect(try await storage.contents(key.get()) == bytes)
        await storage.shutdown()
    }

    @Test("A URL is refused after its time", arguments: AzureServer.all, Signer.allCases)
    func expired(_ server: AzureServer, signer: Signer) async throws {
        let (storage, place) = try await stored(server, signer: signer)
        let url = try await storage.downloadURL(for: key.get(), expires: .seconds(3_600)).absoluteString
        try await place.order(["skew": 1_800])
        #expect(try await plain(.get, text: url).status == 200)
        try await place.order(["skew": 7_200])
        #expect(try await plain(.get, text: url).status == 403)
        await storage.shutdown()
    }

    /// Returns a storage in a new container that has the object.
    private func stored(
        _ server: AzureServer, signer: Signer
    ) async throws -> (storage: AzureStorage, place: AzureServer.Place) {
        let place = try await server.place()
        let storage = try place.storage(signer.credentials(server))
        _ = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        return (storage, place)
    }

    /// Sends a request like a client that has only the URL.
    private func plain(_ method: HTTPRequest.Method, text: String) async throws -> HTTPResponse {
        let engine = DefaultTransport.make(HTTPOptions(plainOptions().connection))
        let url = try #require(URL(string: text))
        let origin = try HTTPOrigin(url)
        let target = String(text.dropFirst(origin.description.count))
        let reply = try await engine.send(HTTPRequest(method, origin: origin, target: target))
        await engine.shutdown()
        return reply
    }
}
