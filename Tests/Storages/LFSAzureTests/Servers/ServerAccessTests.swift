import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Access to Azure", .enabled(if: AzureServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerAccessTests {
    private let key = Result { try ObjectKey("0f3a/0199-7e") }

    private func use(_ storage: AzureStorage) async throws {
        _ = try await storage.upload(.temporary([1, 2, 3]), to: key.get(), session: UploadSession())
        #expect(try await storage.contents(key.get()) == [1, 2, 3])
        #expect(try await storage.list(ListRequest(prefix: "")).objects.count == 1)
        try await storage.delete(key.get(), abandoning: nil)
        await storage.shutdown()
    }

    private func credentials(_ server: AzureServer, client: String = "client-a") -> [AzureCredentials] {
        let (tenant, authority) = (server.tenant, server.authority)
        let base = server.endpoint.deletingLastPathComponent().absoluteString
        let machine = URL(string: base + "metadata/identity/oauth2/token")
        return [
            .sharedKey(server.accountKey),
            .clientSecret(tenant: tenant, client: client, secret: server.clientSecret, authority: authority),
            .workloadIdentity(
                tenant: tenant, client: client, tokenFile: server.federatedTokenFile, authority: authority),
            .managedIdentity(service: machine),
            .connectionString("AccountName=\(server.account);AccountKey=\(server.accountKey)"),
            .environment(AzureEnvironment(variables: ["AZURE_STORAGE_KEY": server.accountKey])),
            .environment(
                AzureEnvironment(variables: [
                    "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client, "AZURE_CLIENT_SECRET": server.clientSecret,
                    "AZURE_AUTHORITY_HOST": authority.absoluteString,
                ])),
            .environment(
                AzureEnvironment(variables: [
                    "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client,
                    "AZURE_FEDERATED_TOKEN_FILE": server.federatedTokenFile,
                    "AZURE_AUTHORITY_HOST": authority.absoluteString,
                ])),
        ]
    }

    @Test("Every kind of credentials grants access", arguments: AzureServer.all, 0..<8)
    func kinds(_ server: AzureServer, index: Int) async throws {
        try await use(server.place().storage(credentials(server)[index]))
    }

    @Test("A shared access signature grants only its permissions", arguments: AzureServer.all)
    func signature(_ server: AzureServer) async throws {
        let place = try await server.place()
        let (all, reading) = (place.signature(permissions: "rcwdl"), place.signature(permissions: "rl"))
        try await use(place.storage(.sas { "?" + all }))
        let storage = try place.storage(.sas { reading })
        let error = try await storageError {
            try await storage.upload(.temporary([1]), to: key.get(), session: UploadSession())
        }
        #expect(error?.code == .forbidden)
        await storage.shutdown()
    }

    @Test("Wrong credentials are refused after asking the provider again", arguments: AzureServer.all)
    func wrongKey(_ server: AzureServer) async throws {
        let place = try await server.place()
        let asked = Mutex(0)
        let wrong = Data("wrong".utf8).base64EncodedString()
        let ended = place.signature(permissions: "r", lasts: 1_000).replacing("sig=", with: "sig=A")
        for credentials in [
            .sharedKey(wrong), .token { ("nobody", nil) },
            .sas {
                asked.withLock { $0 += 1 }
                return ended
            },
        ] as [AzureCredentials] {
            let storage = try place.storage(credentials)
            for error in [
                try await storageError { try await storage.head(key.get()) },
                try await storageError { try await storage.list(ListRequest(prefix: "")) },
                try await storageError { try await storage.delete(key.get(), abandoning: nil) },
            ] { #expect(error?.code == .unauthorized) }
            await storage.shutdown()
        }
        #expect(asked.withLock { $0 } == 4, "once at the start and once after each refusal")
    }

    @Test("A revoked token is replaced by a new one", arguments: AzureServer.all)
    func revoked(_ server: AzureServer) async throws {
        let client = "client-\(UUID().uuidString)"
        let place = try await server.place()
        let storage = try place.storage(credentials(server, client: client)[1])
        _ = try await storage.upload(.temporary([1]), to: key.get(), session: UploadSession())
        try await server.control(["revoke": client])
        #expect(try await storage.contents(key.get()) == [1])
        #expect(try await place.count("GET - 401") == 1)
        await storage.shutdown()
    }

    @Test("A wrong clock is corrected by the service's time", arguments: AzureServer.all, [-7_200, 7_200])
    func clock(_ server: AzureServer, skew: Int) async throws {
        let place = try await server.place()
        try await place.order(["skew": skew])
        try await use(place.storage())
        #expect(try await place.count("PUT - 403") == 1)
    }

    @Test("A wrong secret is refused without appearing in the error", arguments: AzureServer.all)
    func wrongSecret(_ server: AzureServer) async throws {
        let place = try await server.place()
        let storage = try place.storage(
            .clientSecret(
                tenant: server.tenant, client: "client-a", secret: "canary-secret", authority: server.authority))
        let error = try #require(try await storageError { try await storage.head(key.get()) })
        #expect(error.code == .unauthorized)
        #expect(error.message.contains("invalid_client") && !String(reflecting: error).contains("canary"))
        await storage.shutdown()
    }

    @Test("A missing container is a misconfiguration in every operation", arguments: AzureServer.all)
    func container(_ server: AzureServer) async throws {
        let storage = try AzureServer.Place(server: server, container: "not-there").storage()
        let key = try key.get()
        for error in [
            try await storageError { try await storage.head(key) },
            try await storageError { try await storage.delete(key, abandoning: nil) },
            try await storageError { try await storage.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            try await storageError { try await storage.list(ListRequest(prefix: "")) },
            try await storageError { try await storage.upload(.temporary([1]), to: key, session: UploadSession()) },
        ] { #expect(error?.code == .misconfigured, "\(error?.message ?? "no error")") }
        await storage.shutdown()
    }

    @Test(
        "Each service fault becomes its error code",
        arguments: AzureServer.all,
        [
            ("throttle", StorageError.Code.throttled), ("busy", .throttled), ("timeout", .timeout),
            ("error", .serverError), ("cut", .serverError), ("lose", .serverError),
        ])
    func faults(_ server: AzureServer, fault: (kind: String, code: StorageError.Code)) async throws {
        let place = try await server.place()
        let storage = try place.storage()
        let bytes = SampleBytes.make(100_000)
        _ = try await storage.upload(.temporary(bytes), to: key.get(), session: UploadSession())
        for round in 0..<2 {
            try await place.order(["fault": fault.kind])
            // The engine itself repeats a request that a reused connection has lost.
            let fresh = try place.storage()
            let error = try await storageError {
                if round == 1 { return try await fresh.contents(key.get()).count }
                return try await fresh.upload(.temporary(bytes), to: ObjectKey("other"), session: .init()).hashValue
            }
            await fresh.shutdown()
            #expect(error?.code == fault.code)
            #expect(error?.retryAfter == (fault.code == .throttled ? .seconds(1) : nil))
        }
        #expect(try await storage.contents(key.get()) == bytes)
        await storage.shutdown()
    }
}
