import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import TestSupport
import Testing

@testable import LFSAzure

/// The Azure stand-in that `Tests/Servers/with` has started.
struct AzureServer: Codable, Sendable, CustomTestStringConvertible {
    var name: String
    var endpoint: URL
    var account: String
    var accountKey: String
    var authority: URL
    var tenant: String
    var clientSecret: String
    var federatedTokenFile: String

    var testDescription: String { name }

    /// The running servers. Empty when the tests run without the script.
    static let all = StartedServers.all(AzureServer.self, in: "LFS_AZURE_SERVERS")

    static var isAvailable: Bool { !all.isEmpty }

    /// A container that was made for one test.
    struct Place: Sendable {
        let server: AzureServer
        let container: String

        func storage(
            _ credentials: AzureCredentials? = nil, prefix: String = "", clock: SigningClock = SigningClock(),
            _ change: (inout AzureOptions) -> Void = { _ in }
        ) throws -> AzureStorage {
            var options = plainOptions()
            change(&options)
            let place = try AzurePlace(
                account: server.account, container: container, prefix: prefix, endpoint: server.endpoint)
            return try AzureStorage(
                place, credentials: credentials ?? .sharedKey(server.accountKey), options: options, clock: clock)
        }

        /// Requests faults, see `Tests/Servers/azure/faults.py`.
        func order(_ wish: [String: any Sendable]) async throws {
            try await server.control(wish.merging(["container": container]) { first, _ in first })
        }

        /// Returns the requests so far, such as `PUT block 201`.
        func requests() async throws -> [String] {
            let data = try await server.ask("/.control?\(container)", nil)
            let rows = try #require(try JSONSerialization.jsonObject(with: data) as? [[Any]])
            return rows.map { row in
                row.map { $0 is NSNull ? "-" : "\($0)" }.joined(separator: " ")
            }
        }

        /// Returns the number of requests of a kind, such as `PUT block 201`.
        func count(_ kind: String) async throws -> Int { try await requests().count { $0 == kind } }
    }

    func place() async throws -> Place {
        let place = Place(server: self, container: "t" + UUID().uuidString.lowercased())
        let storage = try place.storage()
        var request = AzureRequest(.put, query: [("restype", "container")])
        request.body = .bytes([])
        _ = try await storage.client.send(request)
        await storage.shutdown()
        return place
    }

    func control(_ wish: [String: any Sendable]) async throws {
        _ = try await ask("/.control", try JSONSerialization.data(withJSONObject: wish))
    }

    fileprivate func ask(_ target: String, _ body: Data?) async throws -> Data {
        let transport = DefaultTransport.make(HTTPOptions(plainOptions().connection))
        var request = HTTPRequest(body == nil ? .get : .post, origin: try HTTPOrigin(endpoint), target: target)
        if let body { request.body = .bytes(Array(body)) }
        let response = try await transport.send(request)
        await transport.shutdown()
        try #require(response.status == 200)
        return Data(response.body)
    }
}
