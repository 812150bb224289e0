import Foundation
import LFSWire

/// The limits of one account in `sync_account`. A missing limit is that of the server.
struct OwnLimits: Sendable, Hashable {
    var values: [AccountLimit: Int64] = [:]

    /// Reads the limits from a row.
    ///
    /// - Parameter column: the index of the first of ``AccountTable/limits``.
    init(_ row: any SQLRow, from column: Int) throws {
        for (index, limit) in AccountLimit.allCases.enumerated() { values[limit] = try row.integer(column + index) }
    }

    init() {}

    func quota(default quota: AccountQuota) -> AccountQuota {
        var own = quota
        own.rows = values[.rows] ?? quota.rows
        own.rowBytes = values[.rowBytes] ?? quota.rowBytes
        own.fileBytes = values[.fileBytes] ?? quota.fileBytes
        return own
    }
}

extension AccountUsage {
    /// Reads the counters from a row.
    ///
    /// - Parameter column: the index of the first of ``AccountTable/counters``.
    init(_ row: any SQLRow, from column: Int) throws {
        guard let rows = try row.integer(column), let rowBytes = try row.integer(column + 1),
            let fileBytes = try row.integer(column + 2)
        else { throw SQLFailure(.unusable, message: "A row of sync_scope lacks a counter.") }
        self.rows = rows
        self.rowBytes = rowBytes
        self.fileBytes = fileBytes
    }
}

/// The table `sync_account` with the counters of each account's own scope.
enum AccountTable {
    /// The counters of a scope `o`.
    static let counters = "o.rowCount, o.rowBytes, o.fileBytes"
    /// The limits of an account `a`.
    static let limits = AccountLimit.allCases.map { "a.\($0.column)" }.joined(separator: ", ")

    /// Returns the usage of an account's own scope, the number of its records of deletions, and the account's limits.
    static func usage(
        of scope: String, _ db: any SQLConnection
    ) throws -> (usage: AccountUsage, deletions: Int64, limits: OwnLimits) {
        var usage = AccountUsage()
        var deletions: Int64 = 0
        var own = OwnLimits()
        let statement = """
            SELECT \(counters), o.deletionCount, \(limits) FROM sync_scope o JOIN sync_account a ON a.id = ?2
            WHERE o.id = ?1
            """
        // The scope of a row that an account owns. Its kind is always that of an account.
        let account = SyncScope(scope)?.id ?? ""
        try db.query(statement, arguments: [.text(scope), .text(account)]) { row in
            usage = try AccountUsage(row, from: 0)
            deletions = try row.integer(3) ?? 0
            own = try OwnLimits(row, from: 4)
            return false
        }
        return (usage, deletions, own)
    }

    /// Returns the scopes that an account owns, sorted: its own one, and those of its shared containers.
    static func scopes(ownedBy account: String, _ db: any SQLConnection) throws -> [String] {
        var scopes: [String] = []
        let statement = "SELECT scopeID FROM sync_grant WHERE accountID = ?1 AND role = 'owner' ORDER BY scopeID"
        try db.query(statement, arguments: [.text(account)]) { row in
            if let scope = try row.text(0) { scopes.append(scope) }
            return true
        }
        return scopes
    }

    /// Returns the maximum number of sessions of an account, or nil for that of the server. Others that count its
    /// sessions in this way wait until the end of the transaction.
    static func heldSessionLimit(account name: String, _ db: any SQLConnection) throws -> Int64? {
        var limit: Int64?
        let lock = db.dialect == .postgres ? " FOR NO KEY UPDATE" : ""
        let sql = "SELECT sessionLimit FROM sync_account WHERE name = ?1" + lock
        try db.query(sql, arguments: [.text(name)]) { row in
            limit = try row.integer(0)
            return false
        }
        return limit
    }

    /// Sets a limit of an account.
    ///
    /// - Parameter value: the value, or nil for that of the server.
    /// - Returns: false if no account has that name.
    static func set(
        _ limit: AccountLimit, to value: Int64?, account name: String, _ db: any SQLConnection
    ) throws -> Bool {
        try db.execute(
            "UPDATE sync_account SET \(limit.column) = ?2 WHERE name = ?1",
            arguments: [.text(name), value.map(SQLValue.integer) ?? .null]) > 0
    }

    /// Returns the accounts after a name, sorted by name.
    ///
    /// - Parameter last: the last name of the previous page. Empty for the first page.
    static func page(
        after last: String, limit: Int, account name: String?, _ db: any SQLConnection
    ) throws -> [SyncAccountInfo] {
        var found: [SyncAccountInfo] = []
        let statement = """
            SELECT a.id, a.name, \(counters), \(limits),
                (SELECT count(*) FROM sync_session s WHERE s.accountID = a.id),
                (SELECT max(s.seenAt) FROM sync_session s WHERE s.accountID = a.id)
            FROM sync_account a JOIN sync_scope o ON o.id = 'account/' || a.id
            WHERE \(name == nil ? "a.name > ?1" : "a.name = ?1") ORDER BY a.name LIMIT ?2
            """
        try db.query(statement, arguments: [.text(name ?? last), .integer(Int64(limit))]) { row in
            guard let id = try row.text(0), let name = try row.text(1), let sessions = try row.integer(9) else {
                throw SQLFailure(.unusable, message: "A row of sync_account lacks a value.")
            }
            found.append(
                SyncAccountInfo(
                    id: id, name: name, usage: try AccountUsage(row, from: 2),
                    limits: try OwnLimits(row, from: 5).values, sessionCount: Int(sessions),
                    lastContactAt: try row.integer(10).map(Milliseconds.date)))
            return true
        }
        return found
    }
}
