import Foundation
import LFSServerPostgres
import LFSSyncServer
import Testing

/// The database of the test cases in the folder `Cases`. Each test gets its own PostgreSQL schema.
enum TestStore {
    private struct Server: Decodable {
        let endpoint: String
    }

    /// The server's URL, which `Tests/Servers/with postgres -- COMMAND` sets.
    static let endpoint: String? = {
        guard let text = ProcessInfo.processInfo.environment["LFS_POSTGRES_SERVERS"] else { return nil }
        return try? JSONDecoder().decode([Server].self, from: Data(text.utf8)).first?.endpoint
    }()

    /// - Parameter isQuick: only for SQLite.
    static func run(isQuick: Bool = false, _ body: (any SQLDatabase) async throws -> Void) async throws {
        try await run { url, _ in
            // Many cases run concurrently.
            var options = PostgresOptions.patient
            options.connectionLimit = 3
            let database = try PostgresDatabase(url: url, options: options)
            try await body(database)
            await database.close()
        }
    }

    /// - Parameter body: receives the URL of a temporary schema and the schema's name, which is also the application
    ///   name of its connections.
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
        // The schema is dropped after a failure too.
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body("\(endpoint)?options=-csearch_path%3D\(schema)&application_name=\(schema)", schema))
        } catch {
            result = .failure(error)
        }
        try await owner.write { try $0.run(script: "DROP SCHEMA \(schema) CASCADE") }
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
