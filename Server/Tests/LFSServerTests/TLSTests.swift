import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import LFSServer
import LFSSyncServer
import Synchronization
import Testing

@testable import lfs_server

@Suite("Sync over TLS", .timeLimit(.minutes(10)))
struct TLSTests {
    /// Records the received tokens. The mutex owns the state.
    private final class Tokens: RouterMiddleware {
        typealias Context = BasicRequestContext
        private let seen = Mutex<[String]>([])

        var all: [String] { seen.withLock { $0 } }

        @concurrent func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            seen.withLock { $0.append(BearerToken.text(of: request) ?? "") }
            return try await next(request, context)
        }
    }

    /// Serves sync while the body runs, and records the received tokens.
    private func serving(
        in folder: URL, over server: HTTPServerBuilder = .http1(),
        _ body: @escaping @Sendable (RunningServer, Tokens, _ token: String) async throws -> Void
    ) async throws {
        let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
        let service = try await SyncService(database, schema: SyncSchema())
        let token = try await service.addSession(account: "ann")
        let (router, tokens) = (Router(), Tokens())
        router.addMiddleware { tokens }
        SyncRoutes(service).add(to: router.group("v1/sync"))
        try await LFSServerTests.serving(router, server: server) { try await body($0, tokens, token) }
        await database.close()
    }

    private func curl(_ port: Int, token: String, arguments: [String]) async throws -> (Int32, String) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "curl", "--silent", "--noproxy", "*", "--max-time", "300", "--header", "Authorization: Bearer \(token)",
                "--data", #"{"protocol":1,"types":["FileV1"]}"#,
            ] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.start()
        for await _ in ends {}
        // The output fits into the pipe's buffer.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return (process.terminationStatus, text)
    }

    /// Checks that a client with the right authority receives a whole stream, that a client without it sends no token,
    /// and that requests without TLS are not answered.
    private func check(
        _ port: Int, right: TestCertificate, wrong: TestCertificate, tokens: Tokens, token: String
    ) async throws {
        let url = "https://127.0.0.1:\(port)/v1/sync/stream"
        let (status, text) = try await curl(port, token: token, arguments: ["--cacert", right.certificate, url])
        #expect(status == 0 && text.contains("SyncCompleteV1"), "\(status) \(text)")
        #expect(tokens.all == [token])
        for trust in [["--cacert", wrong.certificate], []] {
            #expect(try await curl(port, token: "canary", arguments: trust + [url]).0 == 60)
        }
        let plain = try await curl(port, token: "canary", arguments: ["http://127.0.0.1:\(port)/v1/sync/stream"])
        #expect(plain.0 != 0 && !plain.1.contains("SyncCompleteV1"))
        #expect(tokens.all == [token])
    }

    @Test("Sync is served over TLS with --certificate and --key")
    func directly() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (right, wrong) = (
                try TestCertificate("right", in: folder), try TestCertificate("wrong", in: folder)
            )
            let command = try ServeCommand.parse(
                ["--database", "x", "--certificate", right.certificate, "--key", right.key])
            try await serving(
                in: folder, over: try command.channel(Connections(), certificate: try command.loadCertificate())
            ) { server, tokens, token in
                try await check(server.port, right: right, wrong: wrong, tokens: tokens, token: token)
            }
        }
    }

    @Test("Sync is served behind a TLS proxy without a certificate")
    func byProxy() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (right, wrong) = (
                try TestCertificate("right", in: folder), try TestCertificate("wrong", in: folder)
            )
            let command = try ServeCommand.parse(["--database", "x", "--behind-proxy"])
            try await serving(
                in: folder, over: try command.channel(Connections(), certificate: try command.loadCertificate())
            ) { server, tokens, token in
                let proxy = try TLSProxy(right, before: server.port, in: folder)
                try await check(proxy.port, right: right, wrong: wrong, tokens: tokens, token: token)
                #expect(try proxy.received.contains(token) && !proxy.received.contains("canary"))
                try proxy.stop()
            }
        }
    }

    @Test("A server without TLS starts only on localhost or behind a proxy")
    func plainly() throws {
        let (certificate, key) = (["--certificate", "c.pem"], ["--key", "c.key"])
        func parse(_ listen: String, more: [String]) throws {
            _ = try ServeCommand.parse(["--database", "x", "--listen", listen] + more)
        }
        for listen in ["0.0.0.0:8585", "[::]:8585", "192.0.2.1:8585", "127.0.0.1.example:8585"] {
            let error = #expect(throws: (any Error).self, "\(listen)") { try parse(listen, more: []) }
            #expect(error.map { ServeCommand.message(for: $0).contains("--behind-proxy") } == true)
            for more in [["--behind-proxy"], certificate + key] { try parse(listen, more: more) }
        }
        for listen in ["127.0.0.1:8585", "[::1]:8585", "0.0.0.0:8585"] {
            for half in [certificate, key] {
                #expect(throws: (any Error).self, "\(listen) \(half)") { try parse(listen, more: half) }
            }
        }
        for listen in ["127.0.0.1:8585", "[::1]:8585"] { try parse(listen, more: []) }
    }
}
