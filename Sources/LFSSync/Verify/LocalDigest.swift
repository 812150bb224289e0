import GRDB
import LFSSystem
import LFSWire

/// What this device has of the server's rows of a table in a scope, in short.
struct LocalDigest: Sendable {
    private(set) var digest: SyncDigest
    /// Without the rows of which the server has refused a change: it may have them or not.
    private(set) var accepted: SyncDigest

    func isSame(as other: SyncDigest) -> Bool { digest == other || accepted == other }

    /// One for each table and scope that gives rows here. A change that is on its way would look like a difference:
    /// tables with one are left out.
    static func all(_ tables: [SyncedTable], _ db: Database) throws -> [LocalDigest] {
        guard let own = try SyncCheckpoints.ownScope(db) else { return [] }
        let scopes = try MemberTable.scopes(db)
        return try tables.filter { try !Outbox.isWaiting($0.name, db) }.flatMap { table in
            try [LocalDigest(of: table, nil, own, db)]
                + scopes.map { try LocalDigest(of: table, $0, $0, db) }.filter { $0.digest.count > 0 }
        }
    }

    init(_ digest: SyncDigest) { (self.digest, accepted) = (digest, digest) }

    private init(of table: SyncedTable, _ scope: SyncScope?, _ place: SyncScope, _ db: Database) throws {
        self.init(SyncDigest(type: table.type, scope: scope))
        let refused = try Outbox.refused(table.name, db)
        let given =
            scope == nil
            ? """
            SELECT id AS key FROM \(table.name.quotedDatabaseIdentifier)
            WHERE typeof(id) = 'text'
                AND NOT EXISTS (SELECT 1 FROM lfs_sync_member m WHERE m.tableName = :table AND m.key = id)
            """
            : "SELECT key FROM lfs_sync_member WHERE scope = :scope AND tableName = :table"
        // What is parked has come, and was deleted where its row is empty.
        let sql = """
            SELECT key FROM (\(given)) WHERE key NOT IN (
                SELECT key FROM lfs_sync_parked WHERE tableName = :table AND scope = :scope)
            UNION ALL
            SELECT key FROM lfs_sync_parked WHERE tableName = :table AND scope = :scope AND row <> ''
            """
        let keys = try String.fetchCursor(db, sql: sql, arguments: ["table": table.name, "scope": place.description])
        while let key = try keys.next() {
            // What no server takes is on none.
            guard SyncScope.isID(key) else { continue }
            let number = ContentHash.number(ofText: key)
            digest.add(number)
            if !refused.contains(key) { accepted.add(number) }
        }
    }
}
