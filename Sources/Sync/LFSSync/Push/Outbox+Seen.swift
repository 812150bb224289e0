import GRDB
import LFSWire

/// The base version of a row when it was changed, stored in `base` and `after`.
extension Outbox {
    /// Returns the base version in the form that is sent.
    static func seen(_ row: Row, own: SyncScope) -> BaseVersion {
        let after: Int64? = row["after"]
        guard let base = (row["base"] as String?).flatMap({ SyncToken($0) }) else {
            return BaseVersion(position: .start, after: after)
        }
        let scope = base.place.scope
        return BaseVersion(scope: scope == own ? nil : scope, position: base.position, after: after)
    }

    /// Updates the base versions of pending changes whose rows have earlier changes that the server has applied. The
    /// pending changes were made on top of those. Positions stay valid when the sequence numbers start over.
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
                let place = base?.place ?? .init(SyncType(name: name, version: 1), scope: own)
                try db.cachedStatement(sql: "UPDATE lfs_sync_outbox SET base = ? WHERE id = ?").execute(arguments: [
                    SyncToken(place, position: position, epoch: 0).description, waiting["id"] as Int64,
                ])
            }
        }
    }
}
