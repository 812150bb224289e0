import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import Synchronization
import Testing

@testable import LFSAzure

@Suite("Tokens of the identity platform", .timeLimit(.minutes(10)))
struct TokenTests {
    private let secret = AzureCredentials.clientSecret(tenant: "tenant", client: "client", secret: "canary/s")

    private func fake(_ status: Int, _ body: String) -> FakeAzure {
        FakeAzure { request, _ in
            request.origin.host.contains("blob") ? nil : .init(status: status, headers: [:], body: Array(body.utf8))
        }
    }

    @Test("A token is requested once and sent with each request")
    func once() async throws {
        let fake = fake(200, #"{"access_token":"abc","expires_in":"3600","token_type":"Bearer"}"#)
        let storage = try fake.storage(secret)
        for _ in 1...3 { _ = try await storage.head(ObjectKey("a")) }
        let (tokens, others) = (
            fake.requests.filter { $0.method == .post }, fake.requests.filter { $0.method == .head }
        )
        #expect(tokens.count == 1 && others.count == 3)
        #expect(tokens[0].origin.description == "https://login.microsoftonline.com")
        #expect(tokens[0].target == "/tenant/oauth2/v2.0/token")
        #expect(others.allSatisfy { $0.headers["authorization"] == "Bearer abc" })
    }

    @Test(
        "An invalid token reply becomes a typed error",
        arguments: [
            (200, "<html>", "unreachable"), (200, "{}", "unreachable"), (200, #"{"access_token":""}"#, "unauthorized"),
            (200, #"{"access_token":"a b"}"#, "unauthorized"), (401, #"{"error":"invalid_client"}"#, "unauthorized"),
            (400, #"{"error":"x","error_description":"canary/s is wrong"}"#, "unauthorized"),
            (429, #"{"error":"slow"}"#, "throttled"), (503, #"{"error":"busy"}"#, "serverError"),
            (302, "", "unreachable"), (404, "<html>", "unreachable"), (503, "", "serverError"),
        ])
    func refused(_ reply: (status: Int, body: String, code: String)) async throws {
        let error = try await storageError {
            try await fake(reply.status, reply.body).storage(secret).head(ObjectKey("a"))
        }
        #expect(error?.code.rawValue == reply.code, "\(error?.message ?? "no error")")
        #expect(error.map { !String(reflecting: $0).contains("canary") } == true)
    }

    @Test("A managed identity's token is requested only from this machine")
    func managed() async throws {
        let fake = fake(200, #"{"access_token":"abc","expires_in":3600}"#)
        _ = try await fake.storage(.managedIdentity(client: "me", service: nil, AzureEnvironment(variables: [:])))
            .head(ObjectKey("a"))
        let asked = try #require(fake.requests.first)
        #expect(asked.origin.description == "http://169.254.169.254" && asked.headers["metadata"] == "true")
        #expect(asked.target.contains("client_id=me") && asked.target.contains("api-version=2018-02-01"))
        let variables = ["IDENTITY_ENDPOINT": "http://127.0.0.1:42/token", "IDENTITY_HEADER": "canary"]
        let service = AzureCredentials.managedIdentity(
            client: nil, service: nil, AzureEnvironment(variables: variables))
        _ = try await fake.storage(service).head(ObjectKey("a"))
        #expect(fake.requests.dropFirst(2).first?.headers["x-identity-header"] == "canary")
        let elsewhere = AzureCredentials.managedIdentity(service: URL(string: "http://10.0.0.1/token"))
        let error = try await storageError { try await fake.storage(elsewhere).head(ObjectKey("a")) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("Custom header fields reach the blob service and no login server")
    func customFields() async throws {
        let fake = fake(200, #"{"access_token":"abc","expires_in":3600}"#)
        for credentials in [secret, .managedIdentity(client: nil, service: nil, AzureEnvironment(variables: [:]))] {
            let storage = try fake.storage(credentials) { $0.headers = ["X-Door": "canary"] }
            _ = try await storage.head(ObjectKey("a"))
        }
        let isOurs = { (request: HTTPRequest) in request.origin.host == "account.blob.core.windows.net" }
        #expect(fake.requests.filter(isOurs).map { $0.headers["x-door"] } == ["canary", "canary"])
        let logins = fake.requests.filter { !isOurs($0) }
        #expect(logins.map(\.origin.host) == ["login.microsoftonline.com", "169.254.169.254"])
        #expect(logins.allSatisfy { $0.headers["x-door"] == nil })
    }

    @Test("A token is requested over HTTPS unless an option allows HTTP")
    func encryption() async throws {
        let fake = fake(200, #"{"access_token":"abc","expires_in":3600}"#)
        let plain = AzureCredentials.clientSecret(
            tenant: "t", client: "c", secret: "s", authority: URL(string: "http://login.example"))
        let error = try await storageError { try await fake.storage(plain).head(ObjectKey("a")) }
        #expect(error?.code == .invalidRequest)
        #expect(fake.requests.isEmpty)
    }
}
