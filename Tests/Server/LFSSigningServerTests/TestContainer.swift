import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import Testing

@testable import LFSAzure
@testable import LFSSigningServer

/// A container of the Azure stand-in that `Tests/Servers/with` has started.
struct TestContainer: Sendable, CustomTestStringConvertible {
    struct Server: Codable, Sendable {
        var name: String
        var endpoint: URL
        var account: String
        var accountKey: String
        var authority: URL
        var tenant: String
        var clientSecret: String
    }

    let server: Server
    /// True if the account's key signs, rather than a delegation key of a token.
    let byKey: Bool

    var testDescription: String { byKey ? "\(server.name) by key" : server.name }

    /// The credentials of the signer: the account's key, or an app with a client secret.
    var credentials: AzureCredentials {
        byKey
            ? .sharedKey(server.accountKey)
            : .clientSecret(
                tenant: server.tenant, client: "client-signer", secret: server.clientSecret,
                authority: server.authority)
    }

    static var all: [TestContainer] {
        TestStore.allAndLoose.compactMap(\.container)
    }

    /// Requests a fault, see `Tests/Servers/azure/faults.py`.
    func order(_ wish: [String: any Sendable], of storage: AzureStorage) async throws {
        let container = try #require(storage.client.place.containerPath.split(separator: "/").last)
        let body = try JSONSerialization.data(
            withJSONObject: wish.merging(["container": String(container)]) { first, _ in first })
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = true
        let transport = DefaultTransport.make(HTTPOptions(connection))
        var request = HTTPRequest(.post, origin: try HTTPOrigin(server.endpoint), target: "/.control")
        request.body = .bytes(Array(body))
        let response = try await transport.send(request)
        await transport.shutdown()
        try #require(response.status == 200)
    }

    func open<Result>(_ clock: TestClock, _ body: (AzureStorage) async throws -> Result) async throws -> Result {
        let name = "t" + UUID().uuidString.lowercased()
        var options = AzureOptions()
        options.allowsPlainHTTP = true
        options.multipartThreshold = 2 << 20
        options.partSize = 1 << 20
        let place = try AzurePlace(
            account: server.account, container: name, prefix: "app", endpoint: server.endpoint)
        let maker = try AzureStorage(
            place, credentials: .sharedKey(server.accountKey), options: options, clock: SigningClock())
        var request = AzureRequest(.put, query: [("restype", "container")])
        request.body = .bytes([])
        _ = try await maker.client.send(request)
        await maker.shutdown()
        let storage = try AzureStorage(
            place, credentials: credentials, options: options, clock: SigningClock { clock.now })
        let result = try await body(storage)
        await storage.shutdown()
        return result
    }
}
