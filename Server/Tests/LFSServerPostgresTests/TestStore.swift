import Foundation
import LFSServerPostgres
import LFSSyncServer
import Testing

/// Where the cases of the folder `Cases` keep their rows here: in a schema of PostgreSQL that each test has for itself.
enum TestStore {
    private struct Server: Decodable {
        let endpoint: String
    }

    /// Tells where it is: `Tests/Servers/with postgres -- COMMAND`.
    static let endpoint: String? = {
        guard let text = ProcessInfo.processInfo.environment["LFS_POSTGRES_SERVERS"] else { return nil }
        return try? JSONDecoder().decode([Server].self, from: Data(text.utf8)).first?.endpoint
    }()

    /// - Parameter isQuick: for SQLite.
    static func run(isQuick: Bool = false, _ body: (any SQLDatabase) async throws -> Void) async throws {
        try await run { url, _ in
            // Many cases run beside each other.
            var options = PostgresOptions.patient
            options.connectionLimit = 3
            let database = try PostgresDatabase(url: url, options: options)
            try await body(database)
            await database.close()
        }
    }

    /// - Parameter body: gets the URL with a schema that goes afterwards, and the schema's name, by which the server
    ///   knows the connections, too.
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

    /// Where all run at once, the server has no connections left.
    private static let turns = Turns(count: 8)

    private static func run(
        on endpoint: String, _ body: (_ url: String, _ schema: String) async throws -> Void
    ) async throws {
        let schema = "t" + UUID().uuidString.replacing("-", with: "").lowercased()
        let owner = try PostgresDatabase(url: endpoint)
        try await owner.write { try $0.run(script: "CREATE SCHEMA \(schema)") }
        // Also after a failure.
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

    /// Runs the body with each number, one after the other.
    static func forEach(_ numbers: Range<Int>, _ body: @Sendable (Int) async throws -> Void) async throws {
        for number in numbers { try await body(number) }
    }

    /// Numbers that follow from their seed.
    static func random(_ seed: UInt64) -> any RandomNumberGenerator { SplitMix64(state: seed) }
}

/// How many run at once. The others wait, the first that came first.
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
    /// Long limits, which only a hang reaches: no test may depend on the machine's speed.
    static var patient: PostgresOptions {
        var options = PostgresOptions()
        options.patience = .seconds(600)
        options.lockTimeout = .seconds(600)
        options.statementTimeout = .seconds(600)
        options.idleTimeout = .seconds(600)
        return options
    }
}
