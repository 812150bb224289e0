import Foundation
import LFSStorage
import TestSupport
import Testing

@testable import LFSSync

@Suite(
    "TLS of a device",
    .enabled(if: Machine.has("openssl") && Machine.has("python3"), "needs openssl and python3"),
    .timeLimit(.minutes(10))
)
struct DeviceTLSTests {
    /// Runs a body with a server of one recipe behind a TLS proxy and a device that trusts the given authorities.
    ///
    /// - Parameter authority: makes the authority whose certificates devices need, in a folder.
    private func run(
        requiring authority: (URL) throws -> TestAuthority? = { _ in nil },
        certificate: (TestAuthority) throws -> ClientCertificate? = { _ in nil },
        _ body: (TestSync.Device, TLSProxy, _ right: TestCertificate, _ client: (String?) async throws -> SyncClient)
            async throws -> Void
    ) async throws {
        let lines = [LineServer.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#), LineServer.complete]
        let server = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            guard request.target == "/v1/sync/stream" else { return try connection.reply(204) }
            try connection.reply(200, headers: [:], lines.joined(separator: "\n") + "\n")
        }
        defer { server.close() }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let right = try TestCertificate("right", in: sync.folder)
            let authority = try authority(sync.folder)
            let clientCertificate = try authority.flatMap(certificate)
            let proxy = try TLSProxy(
                right, before: server.port, in: sync.folder, requiring: authority?.certificate)
            let url = try #require(URL(string: "https://127.0.0.1:\(proxy.port)"))
            try await body(device, proxy, right) { authorities in
                var options = SyncOptions(server: url, token: { "canary-token" })
                options.certificateAuthorities = authorities
                options.clientCertificate = clientCertificate
                return try await SyncClient.open(device.database, options: options)
            }
            try proxy.stop()
        }
    }

    @Test("A device that trusts the proxy's authority syncs through it")
    func trusted() async throws {
        try await run { device, proxy, right, client in
            let client = try await client(right.certificate)
            #expect(try await client.synchronize().received == 1)
            await client.shutdown()
            #expect(try await device.rows("SELECT title FROM recipe") == ["Soup"])
            #expect(try proxy.received.contains("Bearer canary-token"))
        }
    }

    @Test("A device that does not trust the authority sends neither its token nor data")
    func untrusted() async throws {
        try await run { device, proxy, right, client in
            let other = try TestCertificate(
                "other", in: URL(fileURLWithPath: right.certificate).deletingLastPathComponent())
            // A certificate of another authority, and no authority besides the system's.
            for authorities in [other.certificate, nil] {
                let client = try await client(authorities)
                let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
                #expect(
                    error?.code == .misconfigured && error?.message.contains("certificate") == true, "\(error as Any)")
                await client.shutdown()
            }
            #expect(try proxy.received == "")
            #expect(try await device.rows("SELECT title FROM recipe") == [])
        }
    }

    @Test("A device with a client certificate syncs through a proxy that requires one")
    func clientCertificate() async throws {
        try await run(requiring: { try TestAuthority(in: $0) }) { authority in
            let bundle = try TestAuthority.bundle(try authority.identity("client"), password: "a secret")
            return ClientCertificate(bundle, password: "a secret")
        } _: { device, proxy, right, client in
            let client = try await client(right.certificate)
            #expect(try await client.synchronize().received == 1)
            await client.shutdown()
            #expect(try await device.rows("SELECT title FROM recipe") == ["Soup"])
        }
    }

    @Test("A proxy that requires a client certificate ends the sync of a device without one")
    func noClientCertificate() async throws {
        try await run(requiring: { try TestAuthority(in: $0) }) { device, proxy, right, client in
            let client = try await client(right.certificate)
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            await client.shutdown()
            #expect(error?.code == .misconfigured && error?.isRetryable == false, "\(error as Any)")
            #expect(error?.message.contains("requires a client certificate") == true, "\(error as Any)")
            #expect(error?.message.contains("getpeername") == false, "\(error as Any)")
            #expect(try proxy.received == "")
        }
    }
}
