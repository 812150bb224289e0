import CPostgres
import LFSSyncServer

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A session with the database server. Its calls block.
///
/// The queue of the ``PostgresWorker`` owns it, and runs one job at a time.
final class PostgresConnection {
    let connection: OpaquePointer
    private let options: PostgresOptions
    private let pooling: PostgresURL.Pooling
    /// The settings of the session, or of each transaction that may run in another session.
    private var settings: [(name: String, value: String)]
    /// The ID of the server process that handles this connection.
    private(set) var process: Int32 = 0
    /// The names of prepared statements, or the texts of unprepared ones.
    private var statements: [Statement: String] = [:]
    /// The keys of `statements`, oldest first.
    private var order: [Statement] = []
    private var nextName = 0
    /// Statements whose callers stopped early once. From the second time on, such a statement can be cancelled.
    private var endsEarly: Set<String> = []
    private var savepointCount = 0
    /// The last failure of the current transaction.
    private(set) var lastFailure: PostgresFailure?
    let canceller: Canceller
    /// True if the session collects the notices about the changes of its transactions instead of sending them.
    private var isCollecting = false

    private struct Statement: Hashable {
        let sql: String
        let types: [Oid]
    }

    /// - Throws: `SQLFailure`.
    init(_ url: PostgresURL, options: PostgresOptions) throws {
        self.options = options
        pooling = url.pooling
        // Bitmap scans are disabled, because a page must be read in index order up to a limit. A generic plan could use
        // a bitmap, which must be complete before the first row.
        settings = [
            ("lock_timeout", "\(options.lockTimeout.milliseconds)"),
            ("statement_timeout", "\(options.statementTimeout.milliseconds)"),
            ("idle_in_transaction_session_timeout", "\(options.idleTimeout.milliseconds)"),
            ("standard_conforming_strings", "on"), ("enable_bitmapscan", "off"), ("extra_float_digits", "1"),
        ]
        // Options of the URL come later and override the defaults.
        let defaults = [
            ("application_name", "lfs-server"), ("connect_timeout", "10"), ("keepalives_idle", "30"),
            ("keepalives_interval", "10"), ("keepalives_count", "3"), ("tcp_user_timeout", "60000"),
            ("dbname", url.text), ("client_encoding", "UTF8"),
        ]
        guard let made = Self.connect(defaults) else {
            throw SQLFailure(.unavailable, message: "There is no memory for a connection.")
        }
        guard PQstatus(made) == CONNECTION_OK else {
            let failure = PostgresFailure(unreachable: made).failure
            PQfinish(made)
            throw failure
        }
        connection = made
        canceller = Canceller(made)
        PQsetNoticeProcessor(made, { _, _ in }, nil)
        try prepareSession()
    }

    deinit { PQfinish(connection) }

    private static func connect(_ options: [(String, String)]) -> OpaquePointer? {
        let keys = options.map { strdup($0.0) }
        let values = options.map { strdup($0.1) }
        defer { (keys + values).forEach { free($0) } }
        return PQconnectdbParams(
            keys.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
    }

    /// Checks the server, and sets up the session.
    private func prepareSession() throws {
        guard PQserverVersion(connection) >= 140_000 else {
            throw SQLFailure(.unusable, message: "The server needs PostgreSQL 14 or newer.")
        }
        guard let encoding = PQparameterStatus(connection, "server_encoding"), String(cString: encoding) == "UTF8"
        else { throw SQLFailure(.unusable, message: "The database must have the encoding UTF8.") }
        let session = isPooled ? [] : settings.map { ", set_config('\($0.name)', '\($0.value)', false)" }
        // A connection pooler reports an ID that it has made up. No setting may then reach its sessions.
        let condition = pooling == .none ? "WHERE pg_backend_pid() = \(PQbackendPID(connection))" : ""
        let result = PQexec(
            connection,
            """
            SELECT pg_backend_pid(), CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                THEN set_config('synchronous_commit', 'on', \(isPooled)) END \(session.joined()) \(condition)
            """)
        defer { PQclear(result) }
        try check(result)
        guard PQntuples(result) == 1, let value = PQgetvalue(result, 0, 0) else {
            throw SQLFailure(
                .unusable,
                message: "The URL of the database is that of a connection pooler. Use the URL of PostgreSQL itself, or "
                    + "add it: as --direct-database of a server, or as directURL in Swift.")
        }
        process = Int32(String(cString: value)) ?? 0
        if isPooled, PQgetisnull(result, 0, 1) == 0 { settings.append(("synchronous_commit", "on")) }
    }

    private var isPooled: Bool { pooling == .byTransaction }

    var isBroken: Bool { PQstatus(connection) != CONNECTION_OK }

    // MARK: Transactions

    /// - Parameters:
    ///   - words: the text after `BEGIN`.
    ///   - collectsNotices: true to collect the notices about the changes, for ``commit(collectsNotices:)``.
    func begin(_ words: String, collectsNotices: Bool) throws {
        lastFailure = nil
        savepointCount = 0
        if isPooled {
            let local = settings + (collectsNotices ? [("lfs.collects", "on")] : [])
            try run(script: "BEGIN \(words)" + local.map { "; SET LOCAL \($0.name) = \($0.value)" }.joined())
            return
        }
        if collectsNotices, !isCollecting {
            try run(script: "SET lfs.collects = on")
            isCollecting = true
        }
        try run(script: "BEGIN \(words)")
    }

    /// Commits the transaction. The collected notices are read in the same message to the server.
    ///
    /// - Parameter collectsNotices: true if the transaction has begun with it.
    /// - Returns: the notices about the changes of the transaction.
    /// - Throws: `SQLFailure` if the server rolled back instead, because a statement failed and the closure ignored it.
    func commit(collectsNotices: Bool) throws -> [ServerNotice] {
        guard collectsNotices else {
            try commit("COMMIT") { _ in }
            return []
        }
        var notices: [ServerNotice] = []
        try commit("SELECT current_setting('lfs.notices', true); COMMIT") { result in
            guard PQntuples(result) == 1, let value = PQgetvalue(result, 0, 0) else { return }
            notices = String(cString: value).split(separator: "\n").compactMap { ServerNotice(line: $0) }
        }
        return notices
    }

    /// - Parameters:
    ///   - script: statements, of which the last one is COMMIT.
    ///   - row: called with the result of each statement.
    private func commit(_ script: String, _ row: (OpaquePointer) -> Void) throws {
        try requireSent(PQsendQuery(connection, script))
        var failure: (any Error)?
        var word = ""
        while let result = PQgetResult(connection) {
            defer { PQclear(result) }
            do {
                try check(result)
                row(result)
                word = PQcmdStatus(result).map { String(cString: $0) } ?? ""
            } catch let error {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        guard word == "COMMIT" else {
            throw SQLFailure(.unusable, message: "A transaction continued after a statement in it had failed.")
        }
    }

    /// Rolls back. After a failure, the connection is not idle and is not used again.
    func rollback() {
        guard PQtransactionStatus(connection) != PQTRANS_IDLE else { return }
        PQclear(PQexec(connection, "ROLLBACK"))
    }

    /// Indicates that the connection can run another transaction.
    var isIdle: Bool { !isBroken && PQtransactionStatus(connection) == PQTRANS_IDLE }

    // MARK: Statements

    private func check(_ result: OpaquePointer?) throws {
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY: return
        default:
            let failure = PostgresFailure(result, connection: connection)
            lastFailure = failure
            throw failure.failure
        }
    }

    /// Returns the name of the prepared statement, and prepares it if necessary. Behind a pooler, returns the text of
    /// the statement.
    private func prepared(_ sql: String, types: [Oid]) throws -> String {
        let statement = Statement(sql: sql, types: types)
        if let name = statements[statement] { return name }
        if order.count >= options.preparedLimit {
            let oldest = order.removeFirst()
            let name = statements.removeValue(forKey: oldest)
            if let name, !isPooled { try run(script: "DEALLOCATE \(name)") }
        }
        let text = StatementText.translated(sql)
        let name = isPooled ? text : try prepare(text, types: types)
        statements[statement] = name
        order.append(statement)
        return name
    }

    private func prepare(_ text: String, types: [Oid]) throws -> String {
        nextName += 1
        let name = "lfs\(nextName)"
        let result = PQprepare(connection, name, text, Int32(types.count), types)
        defer { PQclear(result) }
        try check(result)
        return name
    }

    /// - Parameter body: returns true if it cancelled the statement, which rolls back to the savepoint.
    private func cutting(_ sql: String, _ body: () throws -> Bool) throws {
        guard endsEarly.contains(sql) else {
            _ = try body()
            return
        }
        try run(script: "SAVEPOINT lfs_cut")
        if try body() { try run(script: "ROLLBACK TO SAVEPOINT lfs_cut") }
        try run(script: "RELEASE SAVEPOINT lfs_cut")
    }
}

extension PostgresConnection: SQLConnection {
    var dialect: SQLDialect { .postgres }

    @discardableResult func execute(_ sql: String, arguments: [SQLValue]) throws -> Int {
        let arguments = try Arguments(arguments)
        let name = try prepared(sql, types: arguments.types)
        let result = arguments.withPointers {
            isPooled
                ? PQexecParams(connection, name, $0, arguments.types, $1, $2, $3, 0)
                : PQexecPrepared(connection, name, $0, $1, $2, $3, 0)
        }
        defer { PQclear(result) }
        try check(result)
        return PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    func query(_ sql: String, arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
        try query(sql, arguments: try Arguments(arguments), row)
    }

    func query(
        _ sql: String, arguments: [SQLValue], columns: [SQLColumn], _ row: (any SQLRow) throws -> Void
    ) throws {
        try query(sql, arguments: try Arguments(arguments, columns: columns)) {
            try row($0)
            return true
        }
    }

    private func requireSent(_ result: Int32) throws {
        guard result != 1 else { return }
        let failure = PostgresFailure(unreachable: connection)
        lastFailure = failure
        throw failure.failure
    }

    private func query(_ sql: String, arguments: Arguments, _ row: (any SQLRow) throws -> Bool) throws {
        let name = try prepared(sql, types: arguments.types)
        try cutting(sql) {
            let isSent = arguments.withPointers {
                isPooled
                    ? PQsendQueryParams(connection, name, $0, arguments.types, $1, $2, $3, 0)
                    : PQsendQueryPrepared(connection, name, $0, $1, $2, $3, 0)
            }
            try requireSent(isSent)
            PQsetSingleRowMode(connection)
            return try readRows(sql, row)
        }
    }

    /// Reads to the end of the statement, because libpq accepts no other statement before. If the caller stops early
    /// and many rows remain, the statement is cancelled. This requires a savepoint, because the cancellation would
    /// otherwise abort the transaction.
    private func readRows(_ sql: String, _ row: (any SQLRow) throws -> Bool) throws -> Bool {
        let isCuttable = endsEarly.contains(sql)
        var failure: (any Error)?
        var isWanted = true
        var isCut = false
        var droppedCount = 0
        while let result = PQgetResult(connection) {
            defer { PQclear(result) }
            if isCut { continue }
            do {
                try check(result)
                guard PQresultStatus(result) == PGRES_SINGLE_TUPLE else { continue }
                if isWanted, failure == nil {
                    isWanted = try row(PostgresRow(result: result))
                } else {
                    droppedCount += 1
                    guard droppedCount == 16 else { continue }
                    if isCuttable {
                        canceller.cancel()
                        isCut = true
                    } else {
                        endsEarly.insert(sql)
                    }
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return isCut
    }

    func run(script: String) throws {
        let result = PQexec(connection, script)
        defer { PQclear(result) }
        try check(result)
    }

    func limited<Value>(
        to duration: Duration, until isOver: @escaping () -> Bool, _ body: () throws -> Value
    ) throws -> Value {
        let limit = min(duration, options.statementTimeout)
        // Applies until the end of the transaction.
        try run(script: "SET LOCAL statement_timeout = \(limit.milliseconds)")
        return try body()
    }

    func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        savepointCount += 1
        let name = "lfs_\(savepointCount)"
        try run(script: "SAVEPOINT \(name)")
        do {
            let value = try body()
            try run(script: "RELEASE SAVEPOINT \(name)")
            return value
        } catch {
            // A transient failure repeats the whole transaction.
            if lastFailure?.isTransient != true, !isBroken {
                try run(script: "ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)")
            }
            throw error
        }
    }
}
