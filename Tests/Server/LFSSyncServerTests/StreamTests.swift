import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Format of streams", .timeLimit(.minutes(10)))
struct StreamTests {
    private func object(_ line: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    private func types(_ lines: [String]) throws -> [String] {
        try lines.map { try object($0)["type"] as? String ?? "?" }
    }

    private func reply(_ device: TestDevice, _ body: String) async -> SyncReply {
        await device.service.stream(Data(body.utf8), token: device.token)
    }

    private func text(_ reply: SyncReply) async throws -> String {
        String(decoding: try await TestDevice.bytes(reply), as: UTF8.self)
    }

    @Test("A stream is JSON Lines with one object per line")
    func lines() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("a\nb\r\n{\"}")])
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("\u{2028}\u{85}")])
            let reply = await reply(device, #"{"protocol":1,"types":["RecipeV2"]}"#)
            #expect(reply.headers["content-type"] == "application/jsonlines+json" && reply.status == 200)
            #expect(reply.headers["cache-control"] == "no-store")
            let text = try await text(reply)
            #expect(text.hasSuffix("}\n") && !text.contains("\n\n") && !text.contains("\r"))
            let found = try types(text.utf8.split(separator: 0x0A).map { String($0) ?? "" })
            #expect(found == ["RecipeV2", "RecipeV2", "SyncAckV1", "SyncCompleteV1"])
        }
    }

    @Test("Parents precede children in a stream, and each type has an end line")
    func order() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            try await device.put("CommentV1", key: "c1", values: ["stepID": .text("s1")])
            for types in [TestServer.types, TestServer.types.reversed()] {
                let lines = try await device.lines(types: types)
                #expect(
                    try self.types(lines) == [
                        "SyncAckV1", "RecipeV2", "SyncAckV1", "StepV1", "SyncAckV1", "CommentV1", "SyncAckV1",
                        "SyncCompleteV1",
                    ])
                let ends = try lines.map { try object($0) }.filter { $0["type"] as? String == "SyncAckV1" }
                #expect(
                    ends.compactMap { ($0["ack"] as? String)?.split(separator: "|").first.map(String.init) }
                        == ["FileV1", "RecipeV2", "StepV1", "CommentV1"])
            }
        }
    }

    @Test("After a cut at any byte the next stream sends exactly the remaining rows")
    func cuts() async throws {
        try await TestServer.run { server in
            let writer = try await server.device()
            for number in 1...3 { try await writer.put("RecipeV2", key: "r\(number)", values: ["title": .text("💐")]) }
            let types = [try #require(SyncType("RecipeV2"))]
            let request = SyncStreamRequest(types: types.map { [$0] })
            for cut in 0... {
                let device = try await server.device()
                let reply = await device.service.stream(try WireFormat.encode(request), token: device.token)
                let bytes = try await TestDevice.bytes(reply)
                guard cut < bytes.count else { break }
                var splitter = LineSplitter()
                bytes.prefix(cut).withUnsafeBytes { splitter.append($0) }
                var tokens: [SyncToken] = []
                while try splitter.next({ line in
                    if case .row(_, let token) = try SyncLine(line, own: nil) { tokens.append(token) }
                }) {}
                try await device.acknowledge(tokens)
                let rest = try await device.delivery(types: types).items
                #expect(rest == (1...3).dropFirst(tokens.count).map { "Recipe r\($0)" }, "\(cut)")
                // An account has at most 50 sessions.
                try await server.execute("DELETE FROM sync_session WHERE lastBatch > 0")
            }
        }
    }

    @Test(
        "A store failure during a stream is reported in its last line",
        arguments: [(SQLFailure.Code.unusable, "server_error"), (.timeout, "unavailable"), (.noSpace, "no_space")])
    func failing(_ code: SQLFailure.Code, word: String) async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            try await server.fill(3_000, bytes: 200)
            var stream = try await device.open()
            let first = String(decoding: try #require(try await stream.next()), as: UTF8.self)
            #expect(first.contains("RecipeV2"))
            database.fail("LIMIT ?4", failure: SQLFailure(code, message: "SELECT secret"))
            let last = String(decoding: try #require(try await stream.next()), as: UTF8.self)
            #expect(try await stream.next() == nil)
            let lines = last.split(separator: "\n")
            let failure = try object(try #require(lines.last))
            #expect(failure["type"] as? String == "SyncErrorV1" && !last.contains("secret"))
            let data = try #require(failure["data"] as? [String: Any])
            #expect(data["code"] as? String == word && data["isRetryable"] as? Bool == true)
            #expect(!last.contains("SyncCompleteV1"))
            // The received rows count, and the others arrive once the store works again.
            database.fail("", failure: nil)
            let tokens = try first.split(separator: "\n").compactMap { line in
                (try object(line)["ack"] as? String).flatMap { SyncToken($0) }
            }
            try await device.acknowledge(tokens)
            let rest = try await device.delivery().items.count
            #expect(rest == 3_000 - first.split(separator: "\n").count { $0.contains("\"RecipeV2\"") })
        }
    }

    @Test("No further page is read for a device that disconnects")
    func leaves() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            try await server.fill(5_000, bytes: 200)
            try await read(device, pieces: 1)
            #expect(server.service.streamCount == 0 && database.now == 0)
            let pages = database.pages
            try await server.execute("UPDATE recipe SET servings = 1")
            server.service.poke()
            #expect(database.pages == pages)
        }
    }

    /// Reads the beginning of a stream and closes it.
    private func read(_ device: TestDevice, pieces: Int) async throws {
        var stream = try await device.open()
        for _ in 0..<pieces { #expect(try await stream.next() != nil) }
    }

    @Test("Twelve disconnected streams hold no connection")
    func twelve() async throws {
        try await TestServer.watched { server, database in
            let first = try await server.device()
            try await server.fill(3_000, bytes: 200)
            try await withThrowingTaskGroup { group in
                for _ in 1...12 {
                    let device = try await server.device()
                    group.addTask { try await read(device, pieces: 1) }
                }
                try await group.waitForAll()
            }
            #expect(server.service.streamCount == 0 && database.now == 0)
            #expect(try await first.sync().count == 3_000)
        }
    }

    @Test("A device that does not read makes the server hold at most two pages")
    func slow() async throws {
        for (count, bytes) in [(5_000, 1), (5_000, 400), (40, 150_000)] {
            try await TestServer.watched { server, database in
                let device = try await server.device()
                try await server.fill(count, bytes: bytes)
                let types = [try #require(SyncType("RecipeV2"))]
                var stream = try await device.open(types: types)
                database.clear()
                var rows = 0
                var isLast = false
                let page = "LIMIT ?4"
                while !isLast {
                    database.fail(page, failure: nil)
                    let piece = try #require(try await stream.next())
                    #expect(database.pages <= 2, "\(bytes)")
                    // The row that fills a page is complete.
                    let lines = piece.split(separator: 0x0A)
                    let longest = lines.map(\.count).max() ?? 0
                    #expect(piece.count <= 2 * (PageReader.byteLimit + longest + 1))
                    #expect(lines.count <= 2 * PageReader.rowLimit + 2)
                    rows += lines.count { $0.starts(with: #"{"type":"RecipeV2""#.utf8) }
                    isLast = lines.last?.starts(with: #"{"type":"SyncCompleteV1""#.utf8) == true
                    database.clear()
                    // A read before the device's next request ends the stream with an error.
                    database.fail(page, failure: SQLFailure(.unusable, message: "It is read too early."))
                }
                #expect(rows == count && PageReader.byteLimit == 64 << 10 && PageReader.rowLimit == 1_000)
            }
        }
    }

    @Test("An unknown type is refused with a list of the known types")
    func unknownType() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let reply = await reply(device, #"{"protocol":1,"types":["RecipeV2","WineV3|WineV2"]}"#)
            #expect(reply.status == 422)
            let text = try await text(reply)
            for word in ["WineV3", "FileV1", "RecipeV1", "RecipeV2", "StepV1", "CommentV1"] {
                #expect(text.contains(word), "\(text)")
            }
        }
    }

    @Test(
        "A request without a supported protocol version or type is refused",
        arguments: [
            #"{"protocol":2,"types":["RecipeV2"]}"#, #"{"protocol":"1","types":["RecipeV2"]}"#,
            #"{"types":["RecipeV2"]}"#, #"{"protocol":1,"types":[]}"#, #"{"protocol":1}"#,
            #"{"protocol":1,"types":[""]}"#,
        ])
    func request(_ body: String) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let reply = await reply(device, body)
            #expect(reply.status == 400)
            let text = try await text(reply)
            let name = body.contains(#""protocol":1,"#) || body.contains(#""protocol":1}"#) ? "'types'" : "'protocol'"
            #expect(text.contains(name), "\(text)")
        }
    }

    @Test("An idle sync takes two statements, regardless of the number of scopes")
    func idle() async throws {
        try await TestServer.watched(schema: SharingServer.schema) { server, database in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for count in [0, 20] {
                for number in 0..<count {
                    try await ann.album("x\(number)")
                    try await ann.share("x\(number)", other: bob)
                }
                try await bob.sync()
                database.clear()
                #expect(try await bob.device.lines(types: SharingServer.types).count == 1)
                #expect(database.statements.count == 2 && database.transactions == 2, "\(database.statements)")
            }
        }
    }

    @Test("An ack during a stream affects only the next stream")
    func ackMeanwhile() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await server.fill(3_000, bytes: 200)
            let types = [try #require(SyncType("RecipeV2"))]
            var stream = try await device.open(types: types)
            var tokens: [SyncToken] = []
            while let piece = try await stream.next() {
                let new = try String(decoding: piece, as: UTF8.self).split(separator: "\n").compactMap { line in
                    (try object(line)["ack"] as? String).flatMap { SyncToken($0) }
                }
                tokens += new.filter { $0.place.type == types[0] }
                if tokens.count < 2_500 { try await device.acknowledge(tokens) }
            }
            // The tokens of all rows and of the type's end.
            #expect(tokens.count == 3_001 && Set(tokens).count == 3_000)
            let rest = try await device.delivery(types: types).items.count
            #expect(rest > 0 && rest < 1_500)
        }
    }
}
