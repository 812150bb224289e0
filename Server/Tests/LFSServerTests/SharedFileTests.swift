import Crypto
import Foundation
import Hummingbird
import LFSServer
import LFSSyncServer
import Logging
import Synchronization
import Testing

@testable import LFSSigningServer

@Suite("Shared files on a server with sync and storage", .timeLimit(.minutes(10)))
struct SharedFileTests {
    /// A device that sends HTTP requests.
    struct Device: Sendable {
        let server: RunningServer
        let token: String
        let account: String

        /// - Returns: the text of the result lines.
        @discardableResult func push(_ sequence: Int, line: String) async throws -> String {
            let body = "{\"id\":\"m\(sequence)\",\"seq\":\(sequence),\(line)}\n"
            let reply = try await server.send(
                "POST", path: "/v1/sync/push",
                headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/jsonlines+json"], body: body)
            #expect(reply.status == 200, "\(reply.text)")
            return reply.text
        }

        /// Returns the answer for an operation on one object.
        func ask(_ operation: String, key: String, more: String = "") async throws -> [String: Any] {
            let body = #"{"version":1,"operation":"\#(operation)","objects":[{"key":"\#(key)"\#(more)}]}"#
            let reply = try await server.send(
                "POST", path: "/lfs", headers: ["Authorization": "Bearer \(token)"], body: body)
            #expect(reply.status == 200, "\(reply.text)")
            let fields = try JSONSerialization.jsonObject(with: reply.body) as? [String: Any]
            return try #require((fields?["objects"] as? [[String: Any]])?.first)
        }

        /// Returns the code of a refusal, or nil for another answer.
        func refusal(_ operation: String, key: String, more: String = "") async throws -> String? {
            (try await ask(operation, key: key, more: more)["error"] as? [String: Any])?["code"] as? String
        }

        func upload(_ text: String, to key: String) async throws -> Int {
            let more = ",\"size\":\(text.utf8.count),\"sha256\":\"\(SharedFileTests.sha256(text))\""
            let path = try path(try await ask("upload", key: key, more: more), operation: "upload")
            return try await server.send("PUT", path: path, body: text).status
        }

        /// Returns the path of a signed URL.
        func link(to key: String) async throws -> String {
            try path(try await ask("download", key: key), operation: "download")
        }

        private func path(_ answer: [String: Any], operation: String) throws -> String {
            let action = (answer["actions"] as? [String: Any])?[operation] as? [String: Any]
            return String(try #require(action?["href"] as? String, "\(answer)").dropFirst("http://app.example".count))
        }
    }

    fileprivate static func sha256(_ text: String) -> String {
        SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    static func fileRow(_ id: String, key: String, text: String) -> String {
        #""type":"FileV1","op":"put","key":"\#(id)","data":{"byteCount":\#(text.utf8.count),"#
            + #""sha256":"\#(sha256(text))","key":"\#(key)","createdAt":"2026","status":"remote"}"#
    }

    private static let schema = SyncSchema(
        tables: [
            .init("album", columns: [.init("title", kind: .text)]),
            .init(
                "album_user",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("accountID", kind: .text, isRequired: true), .init("role", kind: .text),
                ]),
            .init(
                "album_file",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("fileID", kind: .text, isRequired: true, parent: .init("lfs_file", onDelete: .cascade)),
                ]),
        ], containers: [.init("album", members: "album_user", links: "album_file", of: "lfs_file")])

    /// A manual clock. The mutex owns its state.
    private final class Clock: Sendable {
        private let start = Date()
        private let offset = Mutex<TimeInterval>(0)

        func advance(_ seconds: TimeInterval) { offset.withLock { $0 += seconds } }
        var now: Date { start.addingTimeInterval(offset.withLock { $0 }) }
    }

    private struct Parts: Sendable {
        let sync: SyncService
        let signing: SigningService
        let clock: Clock
        /// The folder of the objects.
        let objects: URL
        let book: LogBook

        func device(of account: String, on server: RunningServer) async throws -> Device {
            let token = try await sync.addSession(account: account)
            let id = try #require(try await sync.account(ofToken: token))
            return Device(server: server, token: token, account: id)
        }

        func has(_ key: String) -> Bool { FileManager.default.fileExists(atPath: objects.appending(path: key).path) }

        func removeObjects() async throws -> Int {
            try await sync.removeObjects { [signing] in try await signing.remove($0, of: $1) }
        }
    }

    private func serving(
        _ body: @escaping @Sendable (RunningServer, Parts) async throws -> Void
    ) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let (clock, book) = (Clock(), LogBook())
            let logger = Logger(label: "test") { _ in book }
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            var options = SyncServiceOptions()
            options.now = { clock.now }
            options.removalDelay = .seconds(86_400)
            let sync = try await SyncService(database, schema: Self.schema, options: options, logger: logger)
            let secret = try SigningSecret(SigningSecret.random())
            let objects = folder.appending(path: "data")
            let backend = try SigningBackend.directory(
                at: objects, publicURL: try #require(URL(string: "http://app.example/lfs")), secret: secret,
                now: { clock.now })
            let signing = try SigningService(
                backend: backend, access: .sharedFiles(sync), secret: secret, logger: logger)
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SigningRoutes(signing) { request, _ in
                guard let token = BearerToken.text(of: request) else { return nil }
                return try await sync.account(ofToken: token).map { SigningCaller($0) }
            }.add(to: router.group("lfs"))
            SyncRoutes(sync).add(to: router.group("v1/sync"))
            let parts = Parts(sync: sync, signing: signing, clock: clock, objects: objects, book: book)
            try await LFSServerTests.serving(router) { try await body($0, parts) }
            await signing.shutdown()
            await database.close()
        }
    }

    /// Runs the body after Ann has uploaded two files and shared the first one with Bob in an album.
    private func sharing(
        _ body: @escaping @Sendable (_ ann: Device, _ bob: Device, _ eve: Device, Parts) async throws -> Void
    ) async throws {
        try await serving { (server, parts) async throws in
            let ann = try await parts.device(of: "ann", on: server)
            let bob = try await parts.device(of: "bob", on: server)
            let eve = try await parts.device(of: "eve", on: server)
            for (number, key, text) in [(1, "phone/1", "soup"), (2, "phone/2", "secret")] {
                #expect(try await ann.upload(text, to: key) == 200)
                #expect(
                    try await ann.push(number, line: Self.fileRow("f\(number)", key: key, text: text)).contains(
                        "applied"))
            }
            for (number, line) in [
                (3, #""type":"AlbumV1","op":"put","key":"x","data":{"title":"x"}"#),
                (4, #""type":"AlbumFileV1","op":"put","key":"l","data":{"albumID":"x","fileID":"f1"}"#),
                (
                    5,
                    #""type":"AlbumUserV1","op":"put","key":"u","data":{"albumID":"x","accountID":"\#(bob.account)","#
                        + #""role":"viewer"}"#
                ),
            ] { #expect(try await ann.push(number, line: line).contains("applied")) }
            try await body(ann, bob, eve, parts)
        }
    }

    @Test("A viewer of a shared album may only download its files")
    func viewer() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            #expect(try await bob.server.send("GET", path: try await bob.link(to: "phone/1")).text == "soup")
            #expect(try await bob.ask("head", key: "phone/1")["object"] != nil)
            #expect(try await bob.refusal("download", key: "phone/2") == "forbidden")
            #expect(try await bob.refusal("delete", key: "phone/1") == "forbidden")
            let more = ",\"size\":4,\"sha256\":\"\(Self.sha256("evil"))\",\"replace\":true"
            #expect(try await bob.refusal("upload", key: "phone/1", more: more) == "forbidden")
            #expect(parts.has("phone/1"))
        }
    }

    @Test("An unrelated account is refused, regardless of whether the object exists")
    func unrelated() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            for key in ["phone/1", "phone/2", "phone/3"] {
                for operation in ["download", "head", "delete"] {
                    #expect(try await eve.refusal(operation, key: key) == "forbidden", "\(operation) \(key)")
                }
            }
            // She gets no access by adding a row with the key, or without a session.
            let outcome = try await eve.push(1, line: Self.fileRow("evil", key: "phone/1", text: "soup"))
            #expect(outcome.contains("forbidden"))
            #expect(try await eve.refusal("download", key: "phone/1") == "forbidden")
            let body = #"{"version":1,"operation":"download","objects":[{"key":"phone/1"}]}"#
            for headers in [[:], ["Authorization": "Bearer \(eve.token.dropLast())"]] {
                #expect(try await eve.server.send("POST", path: "/lfs", headers: headers, body: body).status == 401)
            }
        }
    }

    @Test("A withdrawn right is refused at once, and works again once it is restored")
    func withdrawn() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            _ = try await bob.link(to: "phone/1")
            try await ann.push(6, line: #""type":"AlbumFileV1","op":"delete","key":"l""#)
            #expect(try await bob.refusal("download", key: "phone/1") == "forbidden")
            try await ann.push(
                7, line: #""type":"AlbumFileV1","op":"put","key":"l","data":{"albumID":"x","fileID":"f1"}"#)
            _ = try await bob.link(to: "phone/1")
            try await ann.push(8, line: #""type":"AlbumUserV1","op":"delete","key":"u""#)
            #expect(try await bob.refusal("download", key: "phone/1") == "forbidden")
            #expect(try await ann.server.send("GET", path: try await ann.link(to: "phone/1")).text == "soup")
        }
    }

    @Test("An expired signed URL is refused, and a new one works")
    func expired() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            for device in [ann, bob] {
                let link = try await device.link(to: "phone/1")
                parts.clock.advance(899)
                #expect(try await device.server.send("GET", path: link).status == 200)
                parts.clock.advance(2)
                #expect(try await device.server.send("GET", path: link).status == 403)
                let next = try await device.link(to: "phone/1")
                #expect(try await device.server.send("GET", path: next).text == "soup")
            }
        }
    }

    @Test("The server writes tokens and signed URLs neither to files nor to its log")
    func secrets() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            var secrets = [ann, bob, eve].map(\.token) + ["forged" + ann.token.dropFirst(6)]
            for device in [ann, bob] {
                let link = try await device.link(to: "phone/1")
                secrets.append(String(link.suffix(64)))
                #expect(try await device.server.send("GET", path: link).status == 200)
                #expect(try await device.server.send("GET", path: link + "0").status == 403)
            }
            _ = try await eve.refusal("download", key: "phone/1")
            for path in ["/lfs", "/v1/sync/stream", "/v1/sync/push"] {
                for (token, status) in [(secrets[3], 401), (ann.token, 400)] {
                    let headers = ["Authorization": "Bearer \(token)"]
                    #expect(try await ann.server.send("POST", path: path, headers: headers, body: "{").status == status)
                }
            }
            try await ann.push(6, line: #""type":"FileV1","op":"delete","key":"f1""#)
            parts.clock.advance(86_401)
            #expect(try await parts.removeObjects() == 1)
            let folder = parts.objects.deletingLastPathComponent()
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(names.contains("sync.sqlite-wal") && parts.book.text.contains("download"))
            for secret in secrets {
                #expect(!parts.book.text.contains(secret))
                for name in names {
                    // Folders have no content.
                    guard let bytes = FileManager.default.contents(atPath: folder.appending(path: name).path) else {
                        continue
                    }
                    #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name)")
                }
            }
        }
    }

    @Test("The server removes the object of a deleted file after one day")
    func removed() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            try await ann.push(6, line: #""type":"FileV1","op":"delete","key":"f1""#)
            #expect(try await parts.removeObjects() == 0)
            #expect(parts.has("phone/1"))
            parts.clock.advance(86_401)
            #expect(try await parts.removeObjects() == 1)
            #expect(!parts.has("phone/1") && parts.has("phone/2"))
        }
    }

    @Test("Rows in the namespace of another account do not remove its objects")
    func claimed() async throws {
        try await sharing { (ann, bob, eve, parts) async throws in
            // Ann has uploaded into a namespace, but has not pushed a row for it yet.
            #expect(try await ann.upload("tea", to: "tablet/1") == 200)
            for (number, key) in [(1, "tablet/1"), (2, "claims/tablet"), (3, "tablet/../phone/1"), (4, ".uploads/x")] {
                #expect(
                    try await eve.push(2 * number - 1, line: Self.fileRow("e\(number)", key: key, text: "tea"))
                        .contains(
                            "applied"))
                #expect(try await eve.refusal("download", key: key) != nil)
                try await eve.push(2 * number, line: #""type":"FileV1","op":"delete","key":"e\#(number)""#)
            }
            parts.clock.advance(86_401)
            #expect(try await parts.removeObjects() == 0)
            #expect(parts.has("tablet/1") && parts.has("claims/tablet") && parts.has("phone/1"))
            #expect(try await ann.server.send("GET", path: try await ann.link(to: "tablet/1")).text == "tea")
        }
    }
}

/// A log handler that keeps all events with their metadata. The mutex owns its state.
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
