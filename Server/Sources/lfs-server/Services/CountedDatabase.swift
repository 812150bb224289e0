import CoreMetrics
import LFSSyncServer

/// A database whose failures are counted by their kind.
struct CountedDatabase: SQLDatabase {
    private let base: any SQLDatabase
    private let failures: [SQLFailure.Code: Counter]

    init(_ base: any SQLDatabase, factory: any MetricsFactory) {
        self.base = base
        let kinds: [SQLFailure.Code] = [
            .constraint, .invalidValue, .busy, .timeout, .noSpace, .unavailable, .unusable,
        ]
        let counters = kinds.map { kind in
            Counter(label: "lfs.database.errors", dimensions: [("kind", kind.rawValue)], factory: factory)
        }
        failures = Dictionary(uniqueKeysWithValues: zip(kinds, counters))
    }

    var dialect: SQLDialect { base.dialect }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        do { return try await base.read(body) } catch { throw counted(error) }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        do { return try await base.write(body) } catch { throw counted(error) }
    }

    func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value? {
        do { return try await base.maintain(body) } catch { throw counted(error) }
    }

    func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? { base.observe(receive) }

    func close() async { await base.close() }

    /// Counts a failure of the database. Errors of closures are not counted.
    private func counted(_ error: any Error) -> any Error {
        if let failure = error as? SQLFailure { failures[failure.code]?.increment() }
        return error
    }
}
