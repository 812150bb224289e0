import GRDB
import LFSSystem
import LFSWire

/// A digest of the server's rows that this device has for a table and scope.
struct LocalDigest: Sendable {
    private(set) var digest: SyncDigest
    /// The digest without rows whose change the server has refused. The server may or may not have these rows.
    private(set) var accepted: SyncDigest

    func isSame(as other: SyncDigest) -> Bool { digest == other || accepted == other }

    /// Returns a digest for each table and scope that supplies rows to this device. Tables with pending changes are
    /// left out, because such a change would look like a difference.
    static func all(_ tables: [SyncedTable], _ db: Database) throws -> [LocalDigest] {
        guard let own = try SyncCheckpoints.ownScope(db) else { return [] }
        let scopes = try MemberTable.scopes(db)
        return try tables.filter { try !Outbox.isWaiting($0.name, db) }.flatMap { table in
            try [LocalDigest(of: table, nil, place: own, db)]
                + scopes.map { try LocalDigest(of: table, $0, place: $0, db) }.filter { $0.digest.count > 0 }
        }
    }

    init(_ digest: SyncDigest) { (self.digest, accepted) = (digest, digest) }

    private init(of table: SyncedTable, _ scope: SyncScope?, place: SyncScope, _ db: Database) throws {
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
        // A parked row has arrived. If its content is empty, the server has deleted the row.
        let sql = """
            SELECT key FROM (\(given)) WHERE key NOT IN (
                SELECT key FROM lfs_sync_parked WHERE tableName = :table AND scope = :scope)
            UNION ALL
            SELECT key FROM lfs_sync_parked WHERE tableName = :table AND scope = :scope AND row <> ''
            """
        let keys = try String.fetchCursor(db, sql: sql, arguments: ["table": table.name, "scope": place.description])
        while let key = try keys.next() {
            // No server accepts such an id, so no server has the row.
            guard SyncScope.isID(key) else { continue }
            let number = ContentHash.number(ofText: key)
            digest.add(number)
            if !refused.contains(key) { accepted.add(number) }
        }
    }
}
