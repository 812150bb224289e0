import LFSSystem
import LFSWire

/// A digest of the rows that an account may read. A device uses it to find out whether it has the same rows.
enum ScopeDigest {
    /// Returns a line for each type and scope that the session may read.
    static func lines(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], sharing: CheckedSharing, of session: SyncSession,
        _ db: any SQLConnection
    ) throws -> [UInt8] {
        var scopes: [SyncScope] = []
        try db.query(
            "SELECT scopeID FROM sync_grant WHERE accountID = ?1 ORDER BY 1", arguments: [.text(session.account)]
        ) {
            row in
            if let scope = try row.text(0).flatMap({ SyncScope($0) }) { scopes.append(scope) }
            return true
        }
        var lines: [UInt8] = []
        for (table, type) in types {
            for scope in scopes where sharing.holds(table.name, inKind: scope.kind) {
                var digest = SyncDigest(type: type, scope: scope == session.own ? nil : scope)
                try add(table, in: scope, to: &digest, session: session, db)
                lines += digest.line.utf8
            }
        }
        return lines
    }

    private static func add(
        _ table: CheckedSchema.Table, in scope: SyncScope, to digest: inout SyncDigest, session: SyncSession,
        _ db: any SQLConnection
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
        try db.query(sql, arguments: arguments) { row in
            if let key = try row.text(0) { digest.add(ContentHash.number(ofText: key)) }
            return true
        }
    }
}
