import Foundation
import Logging
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A server with accounts and devices on its own database, which is SQLite in this package and PostgreSQL in the
/// server's package.
struct TestServer: Sendable {
    let database: any SQLDatabase
    let service: SyncService

    static let schema = SyncSchema(tables: [
        .init(
            "recipe",
            columns: [
                .init("title", kind: .text, isRequired: true), .init("servings", kind: .integer),
                .init("rating", kind: .real),
                .init("image", kind: .blob),
                .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull)),
                .init("note", kind: .text, since: 2),
            ]),
        .init(
            "step",
            columns: [
                .init("recipeID", kind: .text, isRequired: true, parent: .init("recipe", onDelete: .cascade)),
                .init("text", kind: .text),
            ]),
        .init(
            "comment",
            columns: [
                .init("stepID", kind: .text, parent: .init("step", onDelete: .cascade)), .init("text", kind: .text),
            ]),
    ])

    static let types = ["FileV1", "RecipeV2", "StepV1", "CommentV1"].compactMap { SyncType($0) }

    /// Runs a body with a server.
    ///
    /// - Parameter isQuick: true if the database may stay in memory.
    static func run(
        isQuick: Bool = false, schema: SyncSchema = Self.schema, options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestServer) async throws -> Void
    ) async throws {
        try await TestStore.run(isQuick: isQuick) { database in
            // The clock of pushes stands still, so that a slow machine exceeds no limit.
            let now = ContinuousClock.now
            let service = try await SyncService(
                database, schema: schema, options: options, logger: Logger(label: "test"),
                times: LiveTimes(longest: options.longestStream), clock: { now })
            try await body(TestServer(database: database, service: service))
        }
    }

    func device(of account: String = "ann") async throws -> TestDevice {
        TestDevice(service: service, token: try await service.addSession(account: account))
    }

    /// Writes on the server as an operator or the app's own program does.
    func execute(_ statements: String...) async throws {
        try await database.write { db in
            for statement in statements { try db.run(script: statement) }
        }
    }

    /// Returns the first text of a query's first row.
    func text(_ sql: String) async throws -> String? {
        try await database.read { db in
            var found: String?
            try db.query(sql, arguments: []) { row in
                found = try row.text(0)
                return false
            }
            return found
        }
    }

    /// Returns the scope of an account's own rows.
    func scope(of account: String) async throws -> String {
        "account/" + (try await text("SELECT id FROM sync_account WHERE name = '\(account)'") ?? "")
    }
}

/// A device at the level of the wire protocol. It remembers only its acks.
final class TestDevice {
    let service: SyncService
    let token: String
    var batch: Int64 = 0
    var sequence: Int64 = 0

    init(service: SyncService, token: String) {
        self.service = service
        self.token = token
    }

    /// Returns the lines of a stream.
    func lines(
        types: [SyncType] = TestServer.types, acks: SyncAckBatch? = nil, resets: Bool = false, isEmpty: Bool = false
    ) async throws -> [String] {
        var request = SyncStreamRequest(types: types.map { [$0] }, acks: acks, resets: resets)
        request.isEmpty = isEmpty
        let reply = await service.stream(try WireFormat.encode(request), token: token)
        #expect(reply.status == 200, "\(reply.body)")
        return String(decoding: try await Self.bytes(reply), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    static func bytes(_ reply: SyncReply) async throws -> [UInt8] {
        switch reply.body {
        case .none: return []
        case .whole(let data): return Array(data)
        case .stream(let stream):
            var bytes: [UInt8] = []
            for try await piece in stream { bytes += piece }
            return bytes
        }
    }

    /// The content of a stream. Items are rows and deletions in order, for example `Recipe 1` and `-Recipe 1`.
    struct Delivery {
        var items: [String] = []
        var rows: [SyncRow] = []
        var tokens: [SyncToken] = []
        var controls: [String] = []
    }

    func delivery(
        types: [SyncType] = TestServer.types, resets: Bool = false, isEmpty: Bool = false
    ) async throws -> Delivery {
        var delivery = Delivery()
        for line in try await lines(types: types, resets: resets, isEmpty: isEmpty) {
            let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let type = try #require(fields["type"] as? String)
            let scope = try #require((fields["ack"] as? String).flatMap { SyncToken($0) } ?? nil).place.scope
            let parsed = try Array(line.utf8).withUnsafeBytes { try SyncLine($0, own: scope) }
            switch parsed {
            case .row(let row, let token):
                delivery.items.append("\(token.place.type.name) \(row.text("id") ?? "")")
                delivery.rows.append(row)
                delivery.tokens.append(token)
            case .deletion(let key, let token):
                delivery.items.append("-\(token.place.type.name) \(key)")
                delivery.tokens.append(token)
            case .reached(let token, _): delivery.tokens.append(token)
            case .complete(let token, _), .scopeDeleted(let token), .reset(_, let token):
                delivery.controls.append(type)
                delivery.tokens.append(token)
            case .failure, .heartbeat, .unknown: delivery.controls.append(type)
            }
        }
        return delivery
    }

    /// Acknowledges tokens. The last token of each type and scope covers those before it.
    func acknowledge(_ tokens: [SyncToken]) async throws {
        let last = Dictionary(tokens.map { ($0.place, $0) }) { _, newer in newer }
        let tokens = last.values.sorted { "\($0)" < "\($1)" }
        for start in stride(from: 0, to: max(1, tokens.count), by: SyncAckBatch.limit) {
            batch += 1
            let body = SyncAckBatch(
                number: batch, id: "batch \(batch)", tokens: Array(tokens.dropFirst(start).prefix(SyncAckBatch.limit)))
            let reply = await service.acknowledge(try WireFormat.encode(body), token: token)
            #expect(reply.status == 204, "\(reply)")
        }
    }

    /// Streams and acknowledges everything.
    @discardableResult func sync(types: [SyncType] = TestServer.types) async throws -> [String] {
        let delivery = try await delivery(types: types)
        try await acknowledge(delivery.tokens)
        return delivery.items
    }

    // MARK: Push

    @discardableResult func put(_ type: String, key: String, values: [String: SyncValue]) async throws
        -> SyncMutationResult
    {
        try await push(.put, type: type, key: key, values: values)
    }

    @discardableResult func push(
        _ operation: SyncMutation.Operation, type: String, key: String, values: [String: SyncValue] = [:]
    ) async throws -> SyncMutationResult {
        sequence += 1
        let mutation = SyncMutation(
            id: "m\(sequence)", sequence: sequence, type: try #require(SyncType(type)), operation: operation, key: key,
            row: SyncRow(values))
        return try #require(try await send([mutation]).first)
    }

    func send(_ mutations: [SyncMutation]) async throws -> [SyncMutationResult] {
        var bytes: [UInt8] = []
        for mutation in mutations { mutation.write(to: &bytes) }
        let reply = await service.push(Data(bytes), token: token)
        #expect(reply.status == 200, "\(reply)")
        var splitter = LineSplitter()
        try await Self.bytes(reply).withUnsafeBytes { splitter.append($0) }
        var results: [SyncMutationResult] = []
        while try splitter.next({ results.append(try SyncMutationResult($0)) }) {}
        return results
    }
}
