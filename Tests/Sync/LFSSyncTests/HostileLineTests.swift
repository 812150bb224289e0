import Foundation
import GRDB
import LFSHTTP
import LFSSystem
import LFSWire
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Untrusted streams", .timeLimit(.minutes(10)))
struct HostileLineTests {
    private static let at = "account/me|0197b214-ba2c-7c71-89d1-4bbb56a51d06|0"
    private static let end = #"{"type":"SyncCompleteV1","ack":"SyncCompleteV1|account/me||0","data":{"scopes":1}}"#

    /// A transport that answers each stream with the same bytes and accepts all acks.
    private struct Script: HTTPTransport {
        let bytes: [UInt8]

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard request.target == "/v1/sync/stream", case .sink(let sink, _, _) = request.reply else {
                let status = request.target == "/v1/sync/ack" ? 204 : 503
                return HTTPResponse(head: HTTPResponseHead(status: status, headers: [:]), body: [], bytesSent: 0)
            }
            try await BlockingPool.sinks.run { _ in try bytes.withUnsafeBytes { try sink($0) } }
            return HTTPResponse(head: HTTPResponseHead(status: 200, headers: [:]), body: [], bytesSent: 0)
        }

        func shutdown() async {}
    }

    private func client(_ device: TestSync.Device, bytes: [UInt8]) async throws -> SyncClient {
        var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { "t" })
        options.transport = Script(bytes: bytes)
        return try await SyncClient.open(device.database, options: options)
    }

    @Test(
        "An invalid line is refused with a typed error, and its batch is not applied",
        arguments: [
            #"{"type":"RecipeV1","ack":"RecipeV1|\#(at)","data":{"id":"x","title":{"a":1}}}"#,
            #"{"type":"RecipeV1","ack":"RecipeV1|\#(at)","data":{"id":"x","id":"y"}}"#,
            #"{"type":"RecipeV1","ack":"RecipeV1|\#(at)","data":{"id":"x","title":1e999}}"#,
            #"{"type":"RecipeV1","ack":"RecipeV1|\#(at)","data":[1]}"#,
            #"{"type":"RecipeV1","type":"RecipeV1","ack":"RecipeV1|\#(at)","data":{"id":"x"}}"#,
            #"{"type":"RecipeV1","scope":"album/'; DROP TABLE recipe","ack":"RecipeV1|\#(at)","data":{"id":"x"}}"#,
            #"{"type":"RecipeV1","scope":"album/x","ack":"RecipeV1|\#(at)","data":{"id":"x","title":"y"}}"#,
            #"{"type":"RecipeV2","ack":"RecipeV2|\#(at)","data":{"id":"x","title":"y"}}"#,
            #"{"type":"LfsStateV1","ack":"LfsStateV1|\#(at)","data":{"id":"x"}}"#,
            #"{"type":"RecipeDeleteV1","ack":"RecipeV1|\#(at)","data":{"id":7}}"#,
            #"{"type":"SyncErrorV1","data":{"retryAfter":-9223372036854775808}}"#,
            #"{"type":"SyncResetV1","ack":"SyncResetV1|account/me||0","data":{}}"#,
            #"{"type":"RecipeV1""#, "[]", "\u{1}",
        ])
    func refused(line: String) async throws {
        try await TestSync.run { sync in
            let device = try await sync.device("one")
            try await device.execute("INSERT INTO recipe (id, title) VALUES ('mine', 'Soup')")
            let first = #"{"type":"RecipeV1","ack":"RecipeV1|\#(Self.at)","data":{"id":"first","title":"x"}}"#
            let client = try await client(
                device, bytes: Array([first, line, Self.end, ""].joined(separator: "\n").utf8))
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .unexpectedReply, "\(String(describing: error))")
            #expect(try await device.rows("SELECT id FROM recipe") == ["mine"])
            #expect(try await device.rows("SELECT count(*) FROM lfs_sync_checkpoint") == ["0"])
        }
    }

    /// `LFS_SYNC_FUZZ` sets the number of streams and `LFS_SYNC_FUZZ_SEED` the first seed.
    @Test("Random streams are applied or refused and never change pending local rows")
    func fuzz() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LFS_SYNC_FUZZ"].flatMap { Int($0) } ?? 150
        var random = SeededGenerator(seed: environment["LFS_SYNC_FUZZ_SEED"].flatMap { UInt64($0) } ?? 11)
        let lines = [
            #"{"type":"RecipeV1","ack":"RecipeV1|\#(Self.at)","data":{"id":"x","title":"y","servings":3}}"#,
            #"{"type":"StepV1","scope":"album/a","ack":"StepV1|album/a|0197b214-ba2c-7c71-89d1-4bbb56a51d06|0","#
                + #""data":{"id":"s","recipeID":"x"}}"#,
            #"{"type":"RecipeDeleteV1","ack":"RecipeV1|\#(Self.at)","data":{"id":"mine"}}"#,
            #"{"type":"SyncAckV1","ack":"RecipeV1|\#(Self.at)","data":{"isFull":true}}"#,
            #"{"type":"ScopeDeleteV1","scope":"album/a","ack":"ScopeDeleteV1|album/a||0"}"#,
            #"{"type":"SyncErrorV1","data":{"code":"x","message":"y","isRetryable":false}}"#,
        ]
        for _ in 0..<rounds {
            try await TestSync.run(isQuick: true) { sync in
                let device = try await sync.device("one", isQuick: true)
                try await device.execute("INSERT INTO recipe (id, title) VALUES ('mine', 'Soup')")
                var body: [UInt8] = []
                for line in lines where Bool.random(using: &random) {
                    body += random.mutated(Array(line.utf8)) + [UInt8(ascii: "\n")]
                }
                body += Array((Self.end + "\n").utf8)
                do {
                    try await client(device, bytes: body).synchronize()
                } catch is SyncError {
                } catch {
                    Issue.record("\(error): \(String(decoding: body, as: UTF8.self).debugDescription)")
                }
                #expect(try await device.rows("SELECT title FROM recipe WHERE id = 'mine'") == ["Soup"])
                #expect(try await device.rows("SELECT isApplying FROM lfs_state") == ["0"])
            }
        }
    }
}

/// Fragments that break the structure of a line or name another scope.
private let pieces = [
    "-9223372036854775808", "1e999", "null", "{}", "[]", "\"\"", "\u{0}", "\\u0000", "\\ud800", "{\"hex\":\"0\"}",
    "{\"real\":\"Infinity\"}", "'; DROP TABLE recipe", "account/you", "|", ",", ":", "mine",
].map { Array($0.utf8) }

extension SeededGenerator {
    /// Returns the bytes with up to two random changes.
    fileprivate mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...2, using: &self) {
            let index = Int.random(in: 0..<bytes.count, using: &self)
            let end = Int.random(in: index...min(bytes.count, index + 12), using: &self)
            switch Int.random(in: 0..<3, using: &self) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &self)
            case 1: bytes.insert(contentsOf: bytes[index..<end], at: index)
            default: bytes.replaceSubrange(index..<end, with: pieces.randomElement(using: &self) ?? [])
            }
            if bytes.isEmpty { return bytes }
        }
        return bytes
    }
}
