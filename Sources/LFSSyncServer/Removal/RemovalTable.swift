import LFSWire

/// `sync_removal`: objects whose files were deleted, until the storage has confirmed that they are gone.
///
/// Once the storage was asked, nobody knows whether the object is there: no row is made for its key again before the
/// storage has confirmed.
enum RemovalTable {
    /// An object that is to go.
    struct Item: Sendable, Hashable {
        let key: String
        /// Who owns the namespace of the key.
        let account: String
        /// How often the storage has not confirmed.
        let tries: Int64
    }

    /// Notes the object of a file that is deleted in this transaction.
    static func note(_ key: String, of account: String, notBefore: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            """
            INSERT INTO sync_removal (key, accountID, notBefore) VALUES (?1, ?2, ?3)
            ON CONFLICT (key) DO UPDATE SET notBefore = excluded.notBefore WHERE sync_removal.isAsked = 0
            """, [.text(key), .text(account), .integer(notBefore)])
    }

    /// Keeps an object, since a row is made for it.
    ///
    /// - Returns: false when the storage was asked already.
    static func keep(_ key: String, _ db: any SQLConnection) throws -> Bool {
        try db.execute("DELETE FROM sync_removal WHERE key = ?1 AND isAsked = 0", [.text(key)])
        return try db.firstText("SELECT key FROM sync_removal WHERE key = ?1", [.text(key)]) == nil
    }

    /// Takes what is due, so that no other server does meanwhile. What has a row stays where it is.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - until: when another one may take it, for who has taken it is not there any more then.
    static func take(_ limit: Int, at now: Int64, until: Int64, _ db: any SQLConnection) throws -> [Item] {
        var due: [Item] = []
        let sql = "SELECT key, accountID, tries FROM sync_removal WHERE notBefore <= ?1 ORDER BY notBefore LIMIT ?2"
        try db.query(sql, [.integer(now), .integer(Int64(limit))]) { row in
            if let key = try row.text(0), let account = try row.text(1), let tries = try row.integer(2) {
                due.append(Item(key: key, account: account, tries: tries))
            }
            return true
        }
        // One order, for servers that take at once.
        return try due.sorted { $0.key < $1.key }.filter { item in
            let taken = try db.execute(
                "UPDATE sync_removal SET isAsked = 1, notBefore = ?3 WHERE key = ?1 AND notBefore <= ?2",
                [.text(item.key), .integer(now), .integer(until)])
            guard taken > 0 else { return false }
            guard try hasRow(item.key, db) else { return true }
            try forget(item.key, db)
            return false
        }
    }

    private static func hasRow(_ key: String, _ db: any SQLConnection) throws -> Bool {
        let sql = "SELECT id FROM \(TableSQL.quoted(SyncType.fileTable)) WHERE key = ?1 LIMIT 1"
        return try db.firstText(sql, [.text(key)]) != nil
    }

    /// The storage has confirmed, or never will.
    static func forget(_ key: String, _ db: any SQLConnection) throws {
        try db.execute("DELETE FROM sync_removal WHERE key = ?1", [.text(key)])
    }

    /// The storage has not confirmed.
    static func postpone(_ key: String, notBefore: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_removal SET tries = tries + 1, notBefore = ?2 WHERE key = ?1",
            [.text(key), .integer(notBefore)])
    }

    /// What is noted may be older than what devices know: none of it is due for some time.
    ///
    /// - Parameter day: milliseconds since 1970.
    static func postponeAll(until day: Int64, _ db: any SQLConnection) throws {
        try db.execute("UPDATE sync_removal SET notBefore = ?1 WHERE notBefore < ?1", [.integer(day)])
    }
}
