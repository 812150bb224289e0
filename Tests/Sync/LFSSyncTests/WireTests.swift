import Foundation
import GRDB
import LFSHTTP
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync

@Suite("Parsing of streams", .timeLimit(.minutes(10)))
struct WireTests {
    private typealias Line = LineServer

    private static let recipes = "SELECT id, title FROM recipe ORDER BY id"
    private static let two = [
        Line.row("RecipeV1", number: 1, id: "r1", data: #""title":"Æ 💐 é""#),
        Line.row("RecipeV1", number: 2, id: "r2", data: #""title":"Soup""#),
    ]

    private func run(
        _ server: LineServer, _ body: (TestSync.Device, SyncClient) async throws -> Void
    ) async throws {
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            try await body(device, try await server.client(device.database))
        }
    }

    @Test("A last line without a line end counts as cut off", arguments: [true, false])
    func noEnd(ofRow: Bool) async throws {
        let lines = ofRow ? Self.two : Self.two + [Line.complete]
        try await run(LineServer(bytes: Array(lines.joined(separator: "\n").utf8), pieceSize: 50)) {
            (device, client) async throws in
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .cut)
            // Earlier rows stay.
            #expect(try await device.rows(Self.recipes) == (ofRow ? ["r1|Æ 💐 é"] : ["r1|Æ 💐 é", "r2|Soup"]))
        }
    }

    @Test(
        "A stream split at any byte yields whole rows",
        arguments: ["\n", "\r\n"], [1, 2, 3, 7])
    func split(end: String, size: Int) async throws {
        let text = (Self.two + [Line.complete, ""]).joined(separator: end)
        try await run(LineServer(bytes: Array(text.utf8), pieceSize: size)) { (device, client) async throws in
            #expect(try await client.synchronize().received == 2)
            #expect(try await device.rows(Self.recipes) == ["r1|Æ 💐 é", "r2|Soup"])
        }
    }

    @Test("A line above the size limit is refused as soon as it exceeds it")
    func tooLong() async throws {
        let long = Array(repeating: UInt8(ascii: "x"), count: LineSplitter.limit + 1)
        for end in [[], Array("\n\(Line.complete)\n".utf8)] {
            let bytes = Array((Self.two[0] + "\n").utf8) + long + end
            try await run(LineServer(bytes: bytes, pieceSize: 1 << 16)) { (device, client) async throws in
                let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
                #expect(error?.code == (end.isEmpty ? .cut : .unexpectedReply), "\(end.count)")
            }
        }
        var splitter = LineSplitter()
        long.withUnsafeBytes { splitter.append($0) }
        #expect(try splitter.next { _ in } == false)
        [1].withUnsafeBytes { splitter.append($0) }
        #expect(throws: WireFailure.self) { _ = try splitter.next { _ in } }
    }

    @Test("Blank lines and unknown control lines are ignored")
    func unknown() async throws {
        let odd = [
            "", "\r", #"{"type":"SyncFutureV9"}"#, #"{"type":"SyncHeartbeatV1","data":{"new":[1,{}]}}"#,
            #"{"type":"SyncNoticeV1","data":{"text":"x"},"more":[null]}"#,
            #"{"type":"RecipeMergeV1","ack":"\#(Line.token("RecipeV1", number: 1))","data":{"id":"r1"}}"#,
        ]
        let lines = odd + Self.two.prefix(1) + odd + Self.two.suffix(1) + odd
        try await run(LineServer(scripts: [lines + [Line.complete]])) { (device, client) async throws in
            #expect(try await client.synchronize().received == 2)
            #expect(try await device.rows(Self.recipes).count == 2)
        }
    }

    @Test("An error page of a proxy is reported and changes no row")
    func proxyPage() async throws {
        let page = "<html><body>502 Bad Gateway \(String(repeating: "x", count: 5_000))</body></html>"
        for (status, code) in [
            (500, SyncError.Code.unavailable), (502, .unavailable), (503, .unavailable), (404, .unexpectedReply),
            (200, .unexpectedReply),
        ] {
            let proxy = Proxy(status: status, headers: ["content-type": "text/html"], page)
            try await TestSync.run(isQuick: true) { sync in
                let device = try await sync.device("one", isQuick: true)
                try await device.sync()
                try await device.execute("INSERT INTO recipe (id, title) VALUES ('mine', 'Tea')")
                let client = try await proxy.client(device.database)
                let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
                #expect(error?.code == code, "\(status): \(String(describing: error))")
                #expect((error?.message.utf8.count ?? 0) < 1_000)
                #expect(try await device.rows(Self.recipes) == ["mine|Tea"])
                // The local row is still pending.
                #expect(try await device.sync().sent == 1)
            }
        }
    }

    @Test("A redirect is not followed, so no other server receives the token")
    func redirect() async throws {
        let other = try ScriptedServer { _, connection in try connection.reply(200) }
        let server = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            try connection.reply(307, headers: ["Location": other.url.appending(path: request.target).absoluteString])
        }
        defer {
            for server in [server, other] { server.close() }
        }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            try await device.execute("INSERT INTO recipe (id, title) VALUES ('mine', 'Tea')")
            var options = SyncOptions(server: server.url, token: { "secret" })
            options.allowsPlainHTTP = true
            let client = try await SyncClient.open(device.database, options: options)
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .unexpectedReply && error?.message.contains("secret") == false)
            await client.shutdown()
            #expect(server.requests.count == 1 && server.requests.first?.headers["authorization"] == "Bearer secret")
            #expect(other.connectionCount == 0)
        }
    }

    @Test("Each request has the header fields of the options, and none replaces the token")
    func headers() async throws {
        let server = try ScriptedServer { request, connection in
            try connection.readBody(of: request)
            try connection.reply(503)
        }
        defer { server.close() }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            var options = SyncOptions(server: server.url) { "secret" }
            options.headers = ["X-Door": "canary"]
            let client = try await SyncClient.open(device.database, options: options)
            await #expect(throws: SyncError.self) { try await client.synchronize() }
            await client.shutdown()
            #expect(!server.requests.isEmpty)
            #expect(server.requests.allSatisfy { $0.headers["x-door"] == "canary" })
            options.headers = ["Authorization": "canary"]
            let error = await #expect(throws: SyncError.self) {
                try await SyncClient.open(device.database, options: options)
            }
            #expect(error?.code == .invalidServer && error?.message.contains("canary") == false)
        }
    }

    @Test("Plain HTTP is accepted only for this machine unless an option allows it")
    func plainHTTP() async throws {
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let local = SyncOptions(server: try #require(URL(string: "http://127.0.0.1:8585"))) { "token" }
            await (try await SyncClient.open(device.database, options: local)).shutdown()
            let other = SyncOptions(server: try #require(URL(string: "http://sync.example"))) { "token" }
            let error = await #expect(throws: SyncError.self) {
                _ = try await SyncClient.open(device.database, options: other)
            }
            #expect(error?.code == .invalidServer)
            #expect(error?.localizedDescription.contains("SyncOptions.allowsPlainHTTP") == true)
        }
    }

    @Test("An error of the token closure becomes a sync error with its cause")
    func tokenClosure() async throws {
        struct NoToken: LocalizedError {
            var errorDescription: String? { "The key account.token has no value." }
        }
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let options = SyncOptions(server: try #require(URL(string: "http://127.0.0.1:1"))) { throw NoToken() }
            let client = try await SyncClient.open(device.database, options: options)
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .noToken && error?.cause is NoToken)
            #expect(error?.localizedDescription.contains("The key account.token has no value.") == true)
            #expect(error?.recoverySuggestion == "Sign in again.")
            await client.shutdown()
        }
    }

    // MARK: Batches

    /// Returns the sizes of the batches in which lines arrive.
    private func batches(_ lines: [String]) async throws -> [Int] {
        let feed = LineBatcher(own: nil)
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        async let fed: Void = BlockingPool.sinks.run { _ in
            for start in stride(from: 0, to: bytes.count, by: 10_000) {
                try bytes[start..<min(start + 10_000, bytes.count)].withUnsafeBytes { try feed.take($0) }
            }
            feed.finish()
        }
        var sizes: [Int] = []
        for await batch in feed.batches {
            sizes.append(batch.count)
            feed.taken()
        }
        try await fed
        return sizes
    }

    @Test("A batch has at most 1,000 lines, or 256 KiB plus its last line")
    func limits() async throws {
        let short = (1...2_500).map { Line.row("RecipeV1", number: $0, id: "r\($0)") }
        #expect(try await batches(short) == [1_000, 1_000, 500])
        let title = #""title":"\#(String(repeating: "x", count: 100_000))""#
        let long = (1...7).map { Line.row("RecipeV1", number: $0, id: "r\($0)", data: title) }
        #expect(try await batches(long) == [3, 3, 1])
        #expect(LineBatcher.lineLimit == 1_000 && LineBatcher.byteLimit == 256 << 10)
    }

    /// Runs a body with a feed and a manual clock. The test delivers the lines.
    private func feeding(
        _ body: (
            LineBatcher, ManualClock, _ next: () async -> Int?, _ bring: (ClosedRange<Int>) async throws -> Void
        ) async throws -> Void
    ) async throws {
        let (feed, clock) = (LineBatcher(own: nil), ManualClock())
        let ending = Task { await feed.endSlowBatches(clock) }
        try await body(feed, clock) {
            for await batch in feed.batches { return batch.count }
            return nil
        } _: { numbers in
            let lines = numbers.map { Line.row("RecipeV1", number: $0, id: "r\($0)") + "\n" }
            let bytes = Array(lines.joined().utf8)
            try await BlockingPool.sinks.run { _ in try bytes.withUnsafeBytes { try feed.take($0) } }
        }
        feed.end()
        clock.advance(by: .seconds(1))
        // The task ends unless the test has failed and its time limit has passed.
        await withTaskCancellationHandler {
            await ending.value
        } onCancel: {
            ending.cancel()
        }
    }

    @Test("A batch of lines ends 200 ms after its first line")
    func slowLines() async throws {
        try await feeding { (feed, clock, next, bring) async throws in
            for start in [1, 3, 5] {
                try await bring(start...start)
                await clock.waitForSleepers { $0 == [.milliseconds(200)] }
                clock.advance(by: .milliseconds(199))
                try await bring((start + 1)...(start + 1))
                #expect(clock.remaining == [.milliseconds(1)])
                clock.advance(by: .milliseconds(1))
                #expect(await next() == 2)
                feed.taken()
            }
        }
    }

    @Test("A batch grows while the previous one is applied and follows right after it")
    func slowBatch() async throws {
        try await feeding { (feed, clock, next, bring) async throws in
            try await bring(1...1_000)
            #expect(await next() == 1_000)
            // The timer of the full batch no longer matters.
            await clock.waitForSleepers()
            clock.advance(by: .milliseconds(200))
            try await bring(1_001...1_001)
            await clock.waitForSleepers()
            clock.advance(by: .milliseconds(200))
            // The batch is due but not delivered. The next one has not begun.
            try await yield(while: !feed.isDue)
            try await bring(1_002...1_003)
            feed.taken()
            #expect(await next() == 3)
            feed.taken()
            feed.finish()
            #expect(await next() == nil)
        }
    }

    @Test("The time of a batch starts with its first line and ends if the batch is full")
    func fullBatch() async throws {
        try await feeding { (feed, clock, next, bring) async throws in
            try await bring(1...999)
            await clock.waitForSleepers()
            try await bring(1_000...1_001)
            #expect(await next() == 1_000)
            feed.taken()
            clock.advance(by: .milliseconds(200))
            await clock.waitForSleepers { $0 == [.milliseconds(200)] }
            try await bring(1_002...1_002)
            clock.advance(by: .milliseconds(200))
            #expect(await next() == 2)
        }
    }

    @Test("A row is stored 200 ms after its arrival although its stream stays open")
    func slowStream() async throws {
        let clock = ManualClock()
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let server = LineServer(scripts: [Self.two + [Line.complete]]) { piece in
                guard piece == 1 else { return }
                await clock.waitForSleepers()
                clock.advance(by: .milliseconds(200))
                try await yieldAsync { try await device.rows(Self.recipes).first != "r1|Æ 💐 é" }
            }
            let client = try await server.client(device.database, lineClock: clock)
            #expect(try await client.synchronize().received == 2)
            #expect(try await device.rows(Self.recipes) == ["r1|Æ 💐 é", "r2|Soup"])
        }
    }

    @Test("Cancelling the reader of a feed never blocks its writer")
    func cancelled() async throws {
        let line = Array((Line.complete + "\n").utf8)
        for number in 0..<4_000 {
            let feed = LineBatcher(own: nil)
            let reader = Task {
                await withTaskCancellationHandler {
                    for await _ in feed.batches { feed.taken() }
                } onCancel: {
                    feed.end()
                }
            }
            async let fed: Void = BlockingPool.sinks.run { _ in
                do {
                    // Each line is a batch.
                    while true { try line.withUnsafeBytes { try feed.take($0) } }
                } catch is CancellationError {}
            }
            for _ in 0..<number % 8 { await Task.yield() }
            reader.cancel()
            try await fed
            await reader.value
        }
    }

    @Test("The feed reads at most one batch ahead")
    func slow() async throws {
        let feed = LineBatcher(own: nil)
        let counts = Mutex((read: 0, taken: 0, mostAhead: 0))
        let line = Array((Line.row("RecipeV1", number: 1, id: "r1") + "\n").utf8)
        async let fed: Void = BlockingPool.sinks.run { _ in
            for _ in 0..<10_000 {
                try line.withUnsafeBytes { try feed.take($0) }
                counts.withLock { counts in
                    counts.read += 1
                    counts.mostAhead = max(counts.mostAhead, counts.read - counts.taken)
                }
            }
            feed.finish()
        }
        for await batch in feed.batches {
            // The feed has read this batch and all but the last line of another one.
            try await yield(
                while: counts.withLock { $0.read < min($0.taken + 2 * LineBatcher.lineLimit - 1, 10_000) })
            counts.withLock { $0.taken += batch.count }
            feed.taken()
        }
        try await fed
        #expect(counts.withLock { $0.taken } == 10_000)
        #expect(counts.withLock { $0.mostAhead } <= 2 * LineBatcher.lineLimit)
    }
}

/// A transport that answers every request in the same way.
private struct Proxy: HTTPTransport {
    let status: Int
    let headers: HTTPHeaders
    let page: String

    init(status: Int, headers: [String: String], _ page: String) {
        self.status = status
        self.page = page
        var fields = HTTPHeaders()
        for (name, value) in headers { try? fields.set(name, value: value) }
        self.headers = fields
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let head = HTTPResponseHead(status: status, headers: headers)
        guard case .sink(let sink, _, let accept) = request.reply, accept(head) else {
            return HTTPResponse(head: head, body: Array(page.utf8), bytesSent: 0)
        }
        let bytes = Array((page + "\n").utf8)
        try await BlockingPool.sinks.run { _ in try bytes.withUnsafeBytes { try sink($0) } }
        return HTTPResponse(head: head, body: [], bytesSent: 0)
    }

    func shutdown() async {}

    func client(_ database: any DatabaseWriter) async throws -> SyncClient {
        var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { "t" })
        options.transport = self
        return try await SyncClient.open(database, options: options)
    }
}
