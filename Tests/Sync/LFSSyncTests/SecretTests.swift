import Foundation
import GRDB
import LFS
import LFSS3
import LFSStorage
import Logging
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Secrecy with sync", .timeLimit(.minutes(10)))
struct SecretTests {
    /// A log handler that records all messages with their metadata. The mutex owns its state.
    private final class LogBook: LogHandler, Sendable {
        private let lines = Mutex<[String]>([])

        var text: String { lines.withLock { $0.joined(separator: "\n") } }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }

        func log(event: LogEvent) {
            lines.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
        }
    }

    private static let keys = S3Credentials(
        accessKeyID: "AKCANARY", secretAccessKey: "canarySecretKeyOf40Characters/LikeAmazons",
        sessionToken: "canarySessionToken/asLongAsAmazons")

    private func files(below folder: URL) throws -> [(name: String, bytes: Data)] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return try names.compactMap { name in
            let url = folder.appending(path: name)
            guard (try url.resourceValues(forKeys: [.isRegularFileKey])).isRegularFile == true else { return nil }
            return (name, try Data(contentsOf: url))
        }
    }

    @Test("Session tokens and storage keys appear in no file, row or log")
    func files() async throws {
        let storage = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            try connection.reply(403, headers: [:], "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>")
        }
        defer { storage.close() }
        let book = LogBook()
        let logger = Logger(label: "test") { _ in book }
        try await withTemporaryFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "server.sqlite").path)
            let service = try await SyncService(database, schema: TestSync.schema, logger: logger)
            let sync = TestSync(folder: folder, service: service, serverDatabase: database)
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            var bucket = S3Options()
            bucket.allowsPlainHTTP = true
            var options = LFSOptions(
                storage: try S3Storage(
                    bucket: "photos", region: "us-east-1", endpoint: storage.url, credentials: .static(Self.keys),
                    options: bucket))
            options.logger = logger
            options.pollInterval = .milliseconds(20)
            let lfs = try await LFSManager.open(one.database, options: options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes([1, 2, 3]), name: "photo")
            try await one.database.write { try file.insert($0) }
            try await yield(while: storage.requests.isEmpty)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'findable soup')")
            try await one.sync()
            // Make a refused row, a parked row and a server error.
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'other soup')")
            try await two.sync()
            try await sync.execute("ALTER TABLE recipe RENAME TO gone")
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'tea')")
            await #expect(throws: SyncError.self) { try await two.sync() }
            try await sync.execute("ALTER TABLE gone RENAME TO recipe")
            // Requests that are refused as a whole, with a valid and with a forged token.
            let forged = "forged" + one.token.dropFirst(6)
            for (token, status) in [(one.token, 400), (forged, 401)] {
                #expect(await service.push(Data("{".utf8), token: token).status == status)
            }
            try await lfs.stop()
            let secrets = [
                one.token, two.token, forged, Self.keys.secretAccessKey, try #require(Self.keys.sessionToken),
            ]
            let files = try files(below: folder)
            #expect(files.count { $0.name.hasSuffix("-wal") } == 3)
            // The search finds a text that is present.
            #expect(files.contains { $0.bytes.range(of: Data("findable soup".utf8)) != nil })
            #expect(book.text.contains("error"))
            for secret in secrets {
                for file in files { #expect(file.bytes.range(of: Data(secret.utf8)) == nil, "\(file.name)") }
                #expect(!book.text.contains(secret))
            }
            await database.close()
        }
    }

    @Test(
        "Errors of a sync never contain the token, whatever the server replies",
        arguments: [
            "401", "403", "409", "422", "429", "500 page", "502 page", "200 page", "200 line", "307", "nobody", "cut",
            "push", "digest",
        ])
    func errors(_ way: String) async throws {
        let token = "canary-token-of-a-session"
        let server = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            let echo = request.headers.map { "\($0): \($1)" }.joined(separator: " ")
            let status = Int(way.prefix(3)) ?? 0
            switch (way, request.target) {
            // The requests before the tested one succeed.
            case ("push", "/v1/sync/stream"), ("digest", "/v1/sync/stream"):
                try connection.reply(200, headers: [:], LineServer.complete + "\n")
            case ("push", "/v1/sync/ack"), ("digest", "/v1/sync/ack"): try connection.reply(204)
            case ("307", _): try connection.reply(307, headers: ["Location": "http://127.0.0.1:1/?\(token)"])
            case ("cut", _):
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"type\":\"\(echo)")
                connection.hangUp()
            case ("200 line", _), ("push", _), ("digest", _):
                try connection.reply(200, headers: [:], "{\"type\":\"\(echo)\",\"ack\":\"\(echo)\"}\n")
            case _ where way.hasSuffix("page"): try connection.reply(status, headers: [:], "<html>\(echo)</html>\n")
            default: try connection.reply(status, headers: [:], #"{"error":{"code":"x","message":"No."}}"#)
            }
        }
        if way == "nobody" { server.close() }
        defer { if way != "nobody" { server.close() } }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            var options = SyncOptions(server: server.url, token: { token })
            options.allowsPlainHTTP = true
            let client = try await SyncClient.open(device.database, options: options)
            let calls: [() async throws -> Void] = [
                { try await client.synchronize() }, { _ = try await client.verify() },
                { _ = try await client.account(named: "bob") },
            ]
            if way == "push" { try await device.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'soup')") }
            let failing =
                switch way {
                // The account call accepts this line as a reply without an id.
                case "200 line", "push": calls.prefix(2)
                case "digest": calls[1...1]
                default: calls[...]
                }
            for call in failing {
                let error = await #expect(throws: (any Error).self) { try await call() }
                var dumped = ""
                dump(error, to: &dumped)
                let texts = [
                    "\(error as Any)", String(reflecting: error as Any), dumped, error?.localizedDescription ?? "",
                    (error as? SyncError)?.message ?? "",
                ]
                for text in texts { #expect(!text.contains(token), "\(text)") }
            }
            if way != "nobody" { #expect(server.requests.first?.headers["authorization"] == "Bearer \(token)") }
            await client.shutdown()
        }
    }
}
