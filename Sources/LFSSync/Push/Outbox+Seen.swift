import GRDB
import LFSWire

/// What this device had of a row when it was changed, as `base` and `after` tell.
extension Outbox {
    /// As it is sent.
    static func seen(_ row: Row, _ own: SyncScope) -> SyncSeen {
        let after: Int64? = row["after"]
        guard let base = (row["base"] as String?).flatMap({ SyncToken($0) }) else {
            return SyncSeen(position: .start, after: after)
        }
        let scope = base.place.scope
        return SyncSeen(scope: scope == own ? nil : scope, position: base.position, after: after)
    }

    /// The server has applied changes of rows that have others waiting: whoever made these had seen those. As positions
    /// that stays true when the numbers begin anew.
    ///
    /// - Parameter own: the scope of the account's own rows.
    static func seeApplied(of own: SyncScope, _ db: Database) throws {
        let applied = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT tableName, key, max(appliedAt) FROM lfs_sync_outbox WHERE appliedAt IS NOT NULL
                    GROUP BY tableName, key
                    """))
        let select = "SELECT id, base FROM lfs_sync_outbox WHERE tableName = ? AND key = ? AND appliedAt IS NULL"
        for row in applied {
            guard let position = SyncPosition(row[2] as String), let name = SyncType.name(ofTable: row[0]) else {
                continue
            }
            for waiting in try Row.fetchAll(
                db.cachedStatement(sql: select), arguments: [row[0] as String, row[1] as DatabaseValue])
            {
                let base = (waiting["base"] as String?).flatMap { SyncToken($0) }
                if let base, base.position >= position { continue }
                let place = base?.place ?? .init(SyncType(name: name, version: 1), own)
                try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET base = ? WHERE id = ?").execute(arguments: [
                    SyncToken(place, position, epoch: 0).description, waiting["id"] as Int64,
                ])
            }
        }
    }
}
