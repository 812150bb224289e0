import LFSSystem
import LFSWire

/// What an account may read of one type in one scope, in short, so that a device finds out whether it has the same
/// rows: how many there are, and the sum modulo 2^64 of the first eight bytes, as a number, of each key's SHA-256.
struct ScopeDigest: Sendable {
    let count: Int
    private let sum: UInt64

    /// Sixteen hexadecimal digits.
    var hash: String {
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A line for each type and scope that the session may read: `{"type":…,"scope":…,"count":…,"hash":…}`.
    static func lines(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], _ sharing: CheckedSharing, of session: SyncSession,
        _ db: any SQLConnection
    ) throws -> [UInt8] {
        var scopes: [SyncScope] = []
        try db.query("SELECT scopeID FROM sync_grant WHERE accountID = ?1 ORDER BY 1", [.text(session.account)]) {
            row in
            if let scope = try row.text(0).flatMap({ SyncScope($0) }) { scopes.append(scope) }
            return true
        }
        var lines: [UInt8] = []
        for (table, type) in types {
            for scope in scopes where sharing.holds(table.name, inKind: scope.kind) {
                let digest = try ScopeDigest(table, scope, session, db)
                let name = scope == session.own ? "" : ",\"scope\":\"\(scope)\""
                lines += "{\"type\":\"\(type)\"\(name),\"count\":\(digest.count),\"hash\":\"\(digest.hash)\"}\n".utf8
            }
        }
        return lines
    }

    private init(
        _ table: CheckedSchema.Table, _ scope: SyncScope, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        let name = TableSQL.quoted(table.name)
        let isOfAccount = scope.kind == SyncScope.accountKind
        let sql =
            isOfAccount
            ? "SELECT id FROM \(name) WHERE scopeID = ?1"
            : """
            SELECT m.key FROM sync_member m JOIN \(name) t ON t.id = m.key
            WHERE m.scopeID = ?1 AND m.tableName = \(TableSQL.literal(table.name)) AND m.isDeleted = 0
                AND t.scopeID <> ?2
            """
        var arguments: [SQLValue] = [.text(scope.description)]
        if !isOfAccount { arguments.append(.text(session.own.description)) }
        var digest = (count: 0, sum: UInt64(0))
        try db.query(sql, arguments) { row in
            if let key = try row.text(0) {
                digest.count += 1
                digest.sum &+= Self.number(key)
            }
            return true
        }
        (count, sum) = digest
    }

    private static func number(_ key: String) -> UInt64 {
        UInt64(ContentHash.hex(ofText: key).prefix(16), radix: 16) ?? 0
    }
}
