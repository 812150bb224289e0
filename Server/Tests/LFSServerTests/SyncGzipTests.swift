import Foundation
import Hummingbird
import Logging
import Testing

@testable import LFSServer
@testable import LFSSyncServer

@Suite("Sync with gzip", .timeLimit(.minutes(10)))
struct SyncGzipTests {
    private static let schema = SyncSchema(tables: [
        .init("recipe", columns: [.init("title", kind: .text, isRequired: true)])
    ])
    private static let question = #"{"protocol":1,"types":["RecipeV1"]}"#

    private func run(_ body: @escaping @Sendable (RunningServer, [String: String]) async throws -> Void) async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            // The clock of pushes is fixed, so a push cannot exceed its time on a slow machine.
            let now = ContinuousClock.now
            let service = try await SyncService(
                database, schema: Self.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
                times: LiveTimes(longest: .seconds(600)), clock: { now })
            let token = try await service.addSession(account: "ann")
            let router = Router()
            router.addMiddleware { ReplyMiddleware() }
            SyncRoutes(service).add(to: router.group("v1/sync"))
            try await serving(router) { server in
                // The server waits for open streams when it shuts down.
                defer { service.shutdown() }
                try await body(server, ["Authorization": "Bearer \(token)"])
            }
            await database.close()
        }
    }

    private func line(_ sequence: Int, title: String) -> String {
        #"{"id":"m\#(sequence)","seq":\#(sequence),"type":"RecipeV1","op":"put","key":"r\#(sequence)","#
            + #""data":{"title":"\#(title)"}}"# + "\n"
    }

    private func gzip(_ text: String) throws -> Data {
        let encoder = try GzipEncoder()
        return Data(try encoder.encode(Array(text.utf8)) + encoder.finish())
    }

    @Test("A gzip stream has the same lines, and is sent only on request")
    func lines() async throws {
        try await run { server, authorization in
            let body = (1...400).map { line($0, title: "Soup \($0)") }.joined()
            #expect(
                try await server.send("POST", path: "/v1/sync/push", headers: authorization, body: body).status == 200)
            let plain = try await server.raw(
                "POST", path: "/v1/sync/stream", headers: authorization, Data(Self.question.utf8))
            #expect(plain.head.contains("200 OK") && !plain.head.lowercased().contains("content-encoding"))
            let coded = try await server.raw(
                "POST", path: "/v1/sync/stream", headers: authorization.merging(["Accept-Encoding": "gzip"]) { $1 },
                Data(Self.question.utf8))
            #expect(coded.head.lowercased().contains("content-encoding: gzip"))
            #expect(coded.head.lowercased().contains("application/jsonlines+json"))
            let decoder = try GzipDecoder(limit: 8 << 20)
            try decoder.decode(coded.body)
            #expect(try decoder.finish() == plain.body)
            #expect(plain.body.split(separator: 10).count == 402 && coded.body.count < plain.body.count / 3)
        }
    }

    @Test("Each line of a live gzip stream can be decoded when it arrives")
    func live() async throws {
        try await run { server, authorization in
            let connection = try RawConnection(port: server.port)
            let decoder = try GzipDecoder(limit: 8 << 20)
            func read(until text: String) async throws {
                while !String(decoding: decoder.output, as: UTF8.self).contains(text) {
                    try decoder.decode(try #require(try await connection.piece()))
                }
            }
            let question = #"{"protocol":1,"types":["RecipeV1"],"live":true}"#
            let head = try await connection.head(
                "POST", path: "/v1/sync/stream", headers: authorization.merging(["Accept-Encoding": "gzip"]) { $1 },
                Data(question.utf8))
            #expect(head.contains("200 OK"))
            try await read(until: "SyncCompleteV1")
            for number in 1...3 {
                let body = line(number, title: "Soup \(number)")
                #expect(
                    try await server.send("POST", path: "/v1/sync/push", headers: authorization, body: body).status
                        == 200)
                try await read(until: "Soup \(number)")
            }
        }
    }

    @Test("A push accepts gzip, and refuses oversized and malformed bodies")
    func push() async throws {
        try await run { server, authorization in
            let headers = authorization.merging(["Content-Encoding": "gzip"]) { $1 }
            func status(_ body: Data, _ coding: String = "gzip") async throws -> String {
                let headers = headers.merging(["Content-Encoding": coding]) { $1 }
                let reply = try await server.raw("POST", path: "/v1/sync/push", headers: headers, body)
                return String(reply.head.split(separator: " ").dropFirst().first ?? "")
            }
            let good = try gzip(line(1, title: "Soup") + line(2, title: "Stew"))
            #expect(try await status(good) == "200")
            let bomb = try gzip(line(3, title: String(repeating: " ", count: 32 << 20)))
            #expect(bomb.count < 200_000)
            #expect(try await status(bomb) == "413")
            // The limit is exact to the byte.
            let frame = line(3, title: "").utf8.count
            #expect(
                try await status(try gzip(line(3, title: String(repeating: "x", count: (1 << 20) - frame)))) == "200")
            #expect(
                try await status(try gzip(line(4, title: String(repeating: "x", count: (1 << 20) - frame + 1))))
                    == "413")
            #expect(try await status(Data(good.dropLast(3))) == "400")
            #expect(try await status(Data("{}".utf8)) == "400")
            #expect(try await status(good, "br") == "415")
            #expect(try await status(Data((line(4, title: "Plain")).utf8), "identity") == "200")
            let long = Data(line(5, title: String(repeating: "x", count: 1 << 20)).utf8)
            #expect(try await status(long, "identity") == "413")
        }
    }
}
