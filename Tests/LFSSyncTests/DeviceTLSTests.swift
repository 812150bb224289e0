import Foundation
import TestSupport
import Testing

@testable import LFSSync

@Suite(
    "M 14: a device behind TLS",
    .enabled(if: Machine.has("openssl") && Machine.has("python3"), "needs openssl and python3"),
    .timeLimit(.minutes(10))
)
struct DeviceTLSTests {
    /// A server of one recipe behind a proxy with TLS, and a device that trusts whom the closure says.
    private func run(
        _ body: (TestSync.Device, TLSProxy, _ right: TestCertificate, _ client: (String?) async throws -> SyncClient)
            async throws -> Void
    ) async throws {
        let lines = [LineServer.row("RecipeV1", 1, "r1", #""title":"Soup""#), LineServer.complete]
        let server = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            guard request.target == "/v1/sync/stream" else { return try connection.reply(204) }
            try connection.reply(200, [:], lines.joined(separator: "\n") + "\n")
        }
        defer { server.close() }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let right = try TestCertificate("right", in: sync.folder)
            let proxy = try TLSProxy(right, before: server.port, in: sync.folder)
            let url = try #require(URL(string: "https://127.0.0.1:\(proxy.port)"))
            try await body(device, proxy, right) { authorities in
                var options = SyncOptions(server: url, token: { "canary-token" })
                options.certificateAuthorities = authorities
                return try await SyncClient.open(device.database, options: options)
            }
            try proxy.stop()
        }
    }

    @Test("through a proxy that has the certificate, rows come to a device that trusts its authority")
    func trusted() async throws {
        try await run { device, proxy, right, client in
            let client = try await client(right.certificate)
            #expect(try await client.synchronize().received == 1)
            await client.shutdown()
            #expect(try await device.rows("SELECT title FROM recipe") == ["Soup"])
            #expect(try proxy.received.contains("Bearer canary-token"))
        }
    }

    @Test("a device that does not trust the authority refuses, and sends neither its token nor anything else")
    func untrusted() async throws {
        try await run { device, proxy, right, client in
            let other = try TestCertificate(
                "other", in: URL(fileURLWithPath: right.certificate).deletingLastPathComponent())
            // What another authority has signed, and what none of the system's has.
            for authorities in [other.certificate, nil] {
                let client = try await client(authorities)
                let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
                #expect(
                    error?.code == .unavailable && error?.message.contains("certificate") == true, "\(error as Any)")
                await client.shutdown()
            }
            #expect(try proxy.received == "")
            #expect(try await device.rows("SELECT title FROM recipe") == [])
        }
    }
}
