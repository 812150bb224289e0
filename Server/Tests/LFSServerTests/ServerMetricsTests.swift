import ArgumentParser
import CoreMetrics
import Foundation
import Hummingbird
import LFSServer
import LFSServerPostgres
import LFSSigningServer
import LFSSyncServer
import Logging
import MetricsText
import Testing

@testable import lfs_server

@Suite("Metrics of lfs-server", .timeLimit(.minutes(10)))
struct ServerMetricsTests {
    /// A server with all parts, and its metrics.
    private struct Subject: Sendable {
        let text: TextMetrics
        let parts: ServedParts
        let metrics: ServerMetrics
    }

    private func withSubject(_ body: (Subject) async throws -> Void) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let text = TextMetrics()
            let logger = Logger(label: "test") { _ in LogLines() }
            let files = try TestCertificate("used", in: folder)
            let command = try ServeCommand.parse(
                ["--database", "x", "--certificate", files.certificate, "--key", files.key])
            let parts = try await ServedParts(
                storage: "dir:\(folder.path)/objects", tokens: nil, secrets: [],
                store: (path: "\(folder.path)/rows.sqlite", direct: nil, schema: .uploader),
                syncOptions: SyncServiceOptions(), wait: DatabaseWait(limit: .zero, logger: logger),
                provider: try ProviderOptions.parse([]),
                limits: SigningLimits(), reserve: 1, publicURL: try #require(URL(string: "http://127.0.0.1/lfs")),
                metrics: text, logger: logger)
            let metrics = ServerMetrics(
                text, parts: parts, connections: Connections(), certificate: try command.loadCertificate())
            try await body(Subject(text: text, parts: parts, metrics: metrics))
            await parts.shutdown()
        }
    }

    /// Returns the value of a line of the text format.
    private static func value(_ series: String, in text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
            Double($0.dropFirst(series.count + 1))
        }
    }

    @Test(arguments: ["lfs-server-alerts.yaml", "lfs-server-board.json"])
    func `Each metric of the alert rules and of the board exists`(_ name: String) async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: name)
        let content = try String(contentsOf: file, encoding: .utf8)
        // Labels such as http_route are followed by an operator or a parenthesis.
        let named = Set(
            content.matches(of: /\b(?:lfs|hb|process|http_server)_[a-z_]+\b/).map { String($0.0) })
        #expect(named.count > 6, "\(named)")
        try await withSubject { subject in
            let router = Router(context: ServerContext.self)
            router.addMiddleware { RequestMetrics(subject.text) }
            subject.parts.readiness.addRoutes(to: router)
            try await serving(router) { _ = try await $0.send("GET", path: "/health") }
            // The pool exists with PostgreSQL only. It connects on demand.
            let database = try PostgresDatabase(url: "postgres://nobody@127.0.0.1:1/none")
            subject.metrics.update(database.poolStatus)
            await database.close()
            let text = await subject.metrics.current()
            let found = Set(
                text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
                    String($0.prefix { $0 != " " && $0 != "{" })
                }
            )
            #expect(named.subtracting(found).sorted() == [])
        }
    }

    @Test func `The series have the values of the server`() async throws {
        try await withSubject { subject in
            let first = await subject.metrics.current()
            #expect(Self.value(#"lfs_build_info{version="0.1.0"}"#, in: first) == 1)
            // On a busy machine, a check has no outcome for some seconds and counts as failed.
            try await eventually {
                Self.value(#"lfs_ready{check="database"}"#, in: await subject.metrics.current()) == 1
            }
            #expect(Self.value("lfs_sync_streams_open", in: first) == 0)
            #expect(Self.value("lfs_sync_pushes_total", in: first) == 0)
            #expect(Self.value(#"lfs_database_errors_total{kind="busy"}"#, in: first) == 0)
            #expect(Self.value("lfs_disk_reserve_bytes", in: first) == 1)
            #expect(try #require(Self.value(#"lfs_disk_available_bytes{use="storage"}"#, in: first)) > 0)
            let expiry = try #require(Self.value("lfs_certificate_expiry_timestamp_seconds", in: first))
            #expect(expiry > Date().timeIntervalSince1970)
            let sync = try #require(subject.parts.sync)
            let token = try await sync.addSession(account: "ann")
            for _ in 0..<3 { #expect(await sync.push(Data(), token: token).status == 200) }
            for _ in 0..<2 {
                #expect(Self.value("lfs_sync_pushes_total", in: await subject.metrics.current()) == 3)
            }
        }
    }

    @Test func `Failures of the database are counted by their kind`() async throws {
        try await withSubject { subject in
            await subject.parts.shutdown()
            let sync = try #require(subject.parts.sync)
            await #expect(throws: SQLFailure.self) { try await sync.account(named: "ann") }
            let text = await subject.metrics.current()
            let counts = text.matches(of: /lfs_database_errors_total\{kind="\w+"\} (\d+)/).compactMap { Int($0.1) }
            #expect(counts.reduce(0, +) > 0, "\(text)")
        }
    }

    @Test func `A reply with 503 is counted as an error, and methods of clients make no series`() async throws {
        let text = TextMetrics()
        let router = Router(context: ServerContext.self)
        router.addMiddleware {
            RequestMetrics(text)
            ReplyMiddleware()
        }
        router.get("away") { _, _ in Response(status: .serviceUnavailable) }
        router.get("broken") { _, _ -> Response in throw CancellationError() }
        try await serving(router) { server in
            for path in ["/away", "/away", "/broken"] {
                #expect(try await server.send("GET", path: path).status == 503)
            }
            for method in ["PROPFIND", "MKCOL", "LOCK"] { _ = try await server.send(method, path: "/away") }
        }
        // A client may have a reply before the server has counted it.
        let series = #"hb_request_errors_total{http_route="/away",http_request_method="GET",error_type="503"}"#
        try await eventually { Self.value(series, in: text.text()) == 2 }
        let broken = #"http_route="/broken",http_request_method="GET",error_type="503"} 1"#
        try await eventually { text.text().contains(broken) }
        try await eventually { text.text().contains(#"http_request_method="other""#) }
        let all = text.text()
        #expect(!all.contains("PROPFIND") && all.contains(#"http_request_method="other""#))
        try await eventually {
            Self.value(#"http_server_active_requests{http_request_method="GET"}"#, in: text.text()) == 0
        }
    }

    @Test func `The listener of --metrics serves the metrics and the health`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let arguments = [
                "--database", "\(folder.path)/rows.sqlite", "--listen", "127.0.0.1:0", "--url", "http://127.0.0.1/lfs",
                "--metrics", "127.0.0.1:0",
            ]
            try await ServerProcess.run(in: folder, arguments: arguments) { process in
                let main = try process.routes
                try await eventually { try process.listeners().count == 2 }
                let own = try #require(try process.listeners().first { $0.port != main.port })
                let reply = try await own.send("GET", path: "/metrics")
                #expect(reply.status == 200 && reply.headers["content-type"] == TextMetrics.contentType)
                #expect(reply.text.contains("lfs_build_info{version=\"\(ServerVersion.text)\"} 1"))
                #expect(try await own.send("GET", path: "/health/live").status == 200)
                #expect(try await main.send("GET", path: "/metrics").status == 404)
            }
        }
    }
}
