import Foundation
import LFSServerPostgres
import LFSSyncServer
import Testing

/// The database of the test cases in the folder `Cases`. Each test gets its own PostgreSQL schema.
enum TestStore {
    private struct Server: Decodable {
        let endpoint: String
        /// The URL of PostgreSQL itself, if the endpoint is a connection pooler.
        let directEndpoint: String?
    }

    /// The server that `Tests/Servers/with postgres -- COMMAND` or `with pgbouncer` starts.
    private static let server: Server? = {
        guard let text = ProcessInfo.processInfo.environment["LFS_POSTGRES_SERVERS"] else { return nil }
        return try? JSONDecoder().decode([Server].self, from: Data(text.utf8)).first
    }()

    /// The URL of PostgreSQL.
    static let endpoint = server.map { $0.directEndpoint ?? $0.endpoint }

    /// The URL of the connection pooler in front of it, or nil without one.
    static let pooler = server?.directEndpoint == nil ? nil : server?.endpoint

    /// Creates a database whose transactions go through the connection pooler, if there is one.
    ///
    /// - Parameter url: a URL of PostgreSQL.
    static func database(_ url: String, options: PostgresOptions = .patient) throws -> PostgresDatabase {
        guard let pooled = try pooled(url) else { return try PostgresDatabase(url: url, options: options) }
        return try PostgresDatabase(url: pooled, directURL: url, options: options)
    }

    /// Returns the URL with the port of the connection pooler, or nil without one.
    static func pooled(_ url: String) throws -> String? {
        guard let pooler, let endpoint else { return nil }
        let ports = try [endpoint, pooler].map { String(try #require($0.firstMatch(of: /:\d+\//)).0) }
        return url.replacing(ports[0], with: ports[1])
    }

    /// - Parameter isQuick: only for SQLite.
    static func run(isQuick: Bool = false, _ body: (any SQLDatabase) async throws -> Void) async throws {
        try await run { url, _ in
            // Many cases run concurrently.
            var options = PostgresOptions.patient
            options.connectionLimit = 3
            let database = try self.database(url, options: options)
            try await body(database)
            await database.close()
        }
    }

    /// - Parameter body: receives the URL of a temporary schema and the schema's name. Its connections have the same
    ///   application name, and user if there is a pooler.
    static func run(_ body: (_ url: String, _ schema: String) async throws -> Void) async throws {
        guard let endpoint else {
            Issue.record("There is no PostgreSQL. Run: Tests/Servers/with postgres -- swift test --package-path Server")
            return
        }
        await turns.take()
        let result: Result<Void, any Error>
        do {
            result = .success(try await run(on: endpoint, body))
        } catch {
            result = .failure(error)
        }
        await turns.give()
        try result.get()
    }

    /// The limit of concurrent tests keeps connections of the server free.
    private static let turns = Turns(count: 8)

    private static func run(
        on endpoint: String, _ body: (_ url: String, _ schema: String) async throws -> Void
    ) async throws {
        let schema = "t" + UUID().uuidString.replacing("-", with: "").lowercased()
        let owner = try PostgresDatabase(url: endpoint)
        try await owner.write { try $0.run(script: "CREATE SCHEMA \(schema)") }
        var url = "\(endpoint)?options=-csearch_path%3D\(schema)&application_name=\(schema)"
        if pooler != nil {
            // PgBouncer refuses options, so the test has its own user, whose setting names the schema.
            let password = ProcessInfo.processInfo.environment["PGPASSWORD"] ?? ""
            try await owner.write { db in
                try db.run(script: "CREATE ROLE \(schema) SUPERUSER LOGIN PASSWORD '\(password)'")
                try db.run(script: "ALTER ROLE \(schema) SET search_path = \(schema)")
            }
            url = "\(endpoint.replacing(/\/\/[^@]*@/, with: "//\(schema)@"))?application_name=\(schema)"
        }
        // The schema is dropped after a failure too.
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(url, schema))
        } catch {
            result = .failure(error)
        }
        try await owner.write { db in
            // The pooler keeps the sessions of the test's user.
            try db.run(
                script: """
                    DROP SCHEMA \(schema) CASCADE;
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(schema)';
                    DROP ROLE IF EXISTS \(schema)
                    """)
        }
        await owner.close()
        try result.get()
    }

    /// Runs the body with each number in sequence.
    static func forEach(_ numbers: Range<Int>, _ body: @Sendable (Int) async throws -> Void) async throws {
        for number in numbers { try await body(number) }
    }

    /// Returns a generator whose numbers depend only on the seed.
    static func random(_ seed: UInt64) -> any RandomNumberGenerator { SplitMix64(state: seed) }
}

/// A limit of concurrent tests. The others wait in order of arrival.
private actor Turns {
    private var freeCount: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) { freeCount = count }

    func take() async {
        guard freeCount == 0 else {
            freeCount -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func give() {
        if waiting.isEmpty { freeCount += 1 } else { waiting.removeFirst().resume() }
    }
}

private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

extension PostgresOptions {
    /// Long timeouts that only a hang reaches, because no test may depend on the machine's speed.
    static var patient: PostgresOptions {
        var options = PostgresOptions()
        options.patience = .seconds(600)
        options.lockTimeout = .seconds(600)
        options.statementTimeout = .seconds(600)
        options.idleTimeout = .seconds(600)
        return options
    }
}
