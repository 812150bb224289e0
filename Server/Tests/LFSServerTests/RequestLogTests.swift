import ArgumentParser
import Foundation
import Hummingbird
import LFSSyncServer
import Logging
import NIOCore
import Synchronization
import Testing

@testable import LFSServer
@testable import lfs_server

@Suite("Log of requests", .timeLimit(.minutes(10)))
struct RequestLogTests {
    /// The lines of a JSON log. The mutex owns them.
    private final class Output: Sendable {
        private let all = Mutex<[String]>([])

        var lines: [String] { all.withLock { $0 } }

        var objects: [[String: Any]] {
            get throws {
                try lines.map {
                    try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
            }
        }

        func logger(_ level: Logger.Level = .debug) -> Logger {
            var logger = Logger(label: "test") { label in
                JSONLogHandler(label: label, metadataProvider: RequestLog.metadataProvider) { [self] line in
                    all.withLock { $0.append(line) }
                }
            }
            logger.logLevel = level
            return logger
        }
    }

    private func router(_ logger: Logger, trust: ForwardedTrust = .none) -> Router<ServerContext> {
        let router = Router(context: ServerContext.self)
        router.addMiddleware {
            RequestLog(logger: logger, trust: trust)
            ReplyMiddleware()
        }
        return router
    }

    @Test func `Each request is a line with its id, route, peer, account, session and status`() async throws {
        let output = Output()
        let router = router(output.logger(), trust: .last)
        router.get("objects/:key") { request, context in
            context.record.record(sessionToken: "token of ann")
            try await Connections.count(context, for: "hash of ann")
            return Response(status: .noContent)
        }
        try await serving(router) { server in
            let reply = try await server.send(
                "GET", path: "/objects/name?signature=canary", headers: ["X-Forwarded-For": "203.0.113.7"])
            try await eventually { !output.lines.isEmpty }
            let line = try #require(try output.objects.first)
            #expect(line["request"] as? String == reply.headers["x-request-id"])
            #expect(line["route"] as? String == "/objects/{key}" && line["method"] as? String == "GET")
            #expect(line["peer"] as? String == "203.0.113.7" && line["status"] as? Int == 204)
            #expect(line["account"] as? String == "hash of ann" && line["level"] as? String == "info")
            #expect((line["session"] as? String)?.isEmpty == false && line["milliseconds"] is Double)
            #expect(line["message"] as? String == "A request was answered.")
        }
        #expect(!output.lines.joined().contains("canary") && !output.lines.joined().contains("token of ann"))
    }

    @Test func `Other lines of the work for a request have its id, also while the reply is sent`() async throws {
        let output = Output()
        let logger = output.logger()
        let router = router(logger)
        router.get("work") { _, _ in
            logger.error("Work failed.")
            return Response(
                status: .ok,
                body: ResponseBody { writer in
                    logger.error("A later page failed.")
                    try await writer.write(ByteBuffer(string: "x"))
                    try await writer.finish(nil)
                })
        }
        try await serving(router) { server in
            let reply = try await server.send("GET", path: "/work")
            try await eventually { output.lines.count == 3 }
            let ids = try output.objects.map { $0["request"] as? String }
            #expect(ids == Array(repeating: reply.headers["x-request-id"], count: 3))
        }
    }

    @Test func `Unknown paths and health checks are logged without the path`() async throws {
        let output = Output()
        let router = router(output.logger())
        Readiness(checks: []).addRoutes(to: router)
        try await serving(router) { server in
            #expect(try await server.send("GET", path: "/elsewhere/canary").status == 404)
            // A line is written after its reply.
            try await eventually { output.lines.count == 1 }
            #expect(try await server.send("GET", path: "/health/live").status == 200)
            try await eventually { output.lines.count == 2 }
            let lines = try output.objects
            #expect(lines.map { $0["route"] as? String } == ["NotFound", "/health/live"])
            #expect(lines.map { $0["level"] as? String } == ["info", "debug"])
        }
        #expect(!output.lines.joined().contains("canary"))
    }

    @Test func `A line of the JSON log is one object whatever the values contain`() throws {
        let output = Output()
        let error = "a\"b\\c\nd\u{202e}\u{1F600}"
        output.logger().info(
            "Text.",
            metadata: [
                "message": "other", "error": "\(error)", "list": ["a", "b"], "number": .stringConvertible(7),
                "flag": .stringConvertible(true), "fields": ["x": "y"],
            ])
        let line = try #require(output.lines.first)
        #expect(line.hasSuffix("}\n") && line.dropLast().allSatisfy { !$0.isNewline } && !line.contains("\u{202e}"))
        let fields = try #require(try output.objects.first)
        #expect(fields["message"] as? String == "Text." && fields["_message"] as? String == "other")
        #expect(fields["error"] as? String == error && fields["list"] as? [String] == ["a", "b"])
        #expect(
            fields["number"] as? Int == 7 && fields["flag"] as? Bool == true && fields["label"] as? String == "test")
        #expect(fields["fields"] as? [String: String] == ["x": "y"])
        let time = try #require(fields["time"] as? String)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
    }

    @Test(arguments: LogOptions.Format.allCases)
    func `Tokens, signatures and secrets are never logged, at any level`(_ format: LogOptions.Format) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let path = folder.appending(path: "rows.sqlite").path
            let database = try SQLiteDatabase(path: path)
            let token = try await SyncService(database, schema: .uploader).addSession(account: "canary-account")
            await database.close()
            let arguments = [
                "--database", path, "--storage", "dir:\(folder.path)/objects", "--listen", "127.0.0.1:0", "--url",
                "http://127.0.0.1/lfs", "--reserve", "0", "--log-level", "trace", "--log-format", format.rawValue,
            ]
            try await ServerProcess.run(in: folder, arguments: arguments, environment: ["PGPASSWORD": "canary-pw"]) {
                process in
                let server = try #require(try process.listeners().first)
                let fields = ["Authorization": "Bearer \(token)", "Cookie": "canary-cookie"]
                let signed = try await server.send(
                    "POST", path: "/lfs", headers: fields,
                    body: #"{"version":1,"operation":"upload","objects":[{"key":"space/one","size":3,"#
                        + #""sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]}"#)
                let match = try #require(signed.text.firstMatch(of: /(\/lfs\/bytes\/[^"]+signature=([0-9a-f]+))"/))
                #expect(try await server.send("PUT", path: String(match.1), body: "abc").status == 200)
                _ = try await server.send("GET", path: "/lfs/bytes/space/one?signature=canary-signature")
                for path in ["/v1/sync/schema", "/v1/sync/ack?token=canary-query", "/lfs"] {
                    #expect(try await server.send("GET", path: path, headers: fields).status == 200)
                    let made = ["Authorization": "Bearer canary-token"]
                    #expect(try await server.send("GET", path: path, headers: made).status == 401)
                }
                _ = try await server.send(
                    "POST", path: "/v1/sync/push", headers: fields, body: "{\"value\":\"canary-row\"}\n")
                try await eventually { try process.log().contains("/v1/sync/push") }
                let secret = try Data(contentsOf: URL(filePath: path + ".secret"))
                let log = try process.log()
                let hidden = [token, String(match.2), secret.base64EncodedString(), "canary"]
                for text in hidden { #expect(!log.contains(text), "\(log)") }
                #expect(log.split(separator: "\n").first?.contains(ServerVersion.text) == true)
                if format == .json {
                    for line in log.split(separator: "\n") {
                        _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    }
                }
            }
        }
    }

    @Test func `The level of the log is an option with known names`() throws {
        let database = ["--database", "x"]
        #expect(try ServeCommand.parse(database).log.logLevel == .info)
        #expect(try ServeCommand.parse(database + ["--log-level", "debug"]).log.logLevel == .debug)
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--log-level", "loud"]) }
        #expect(throws: (any Error).self) { try ServeCommand.parse(database + ["--log-format", "xml"]) }
    }
}
