import LFSWire

/// The table `sync_removal` of objects whose files were deleted. An entry stays until the storage has confirmed the
/// removal.
///
/// Once the storage was asked, it is unknown whether the object still exists. Until the storage has confirmed, no row
/// with the object's key may be created.
enum RemovalTable {
    /// An object to be removed.
    struct Item: Sendable, Hashable {
        let key: String
        /// The owner of the key's namespace.
        let account: String
        /// The number of attempts that the storage has not confirmed.
        let tries: Int64
    }

    /// Schedules the removal of the object of a file that is deleted in this transaction.
    static func note(_ key: String, of account: String, notBefore: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            """
            INSERT INTO sync_removal (key, accountID, notBefore) VALUES (?1, ?2, ?3)
            ON CONFLICT (key) DO UPDATE SET notBefore = excluded.notBefore WHERE sync_removal.isAsked = 0
            """, arguments: [.text(key), .text(account), .integer(notBefore)])
    }

    /// Cancels the removal of an object, because a row is created for it.
    ///
    /// - Returns: false if the storage was already asked.
    static func keep(_ key: String, _ db: any SQLConnection) throws -> Bool {
        try db.execute("DELETE FROM sync_removal WHERE key = ?1 AND isAsked = 0", arguments: [.text(key)])
        return try db.firstText("SELECT key FROM sync_removal WHERE key = ?1", arguments: [.text(key)]) == nil
    }

    /// Returns true if the removal of one of several objects is scheduled.
    static func hasAny(of keys: [String], _ db: any SQLConnection) throws -> Bool {
        var isFound = false
        let condition = db.dialect == .sqlite ? "key = ?1" : "key = ANY(?1)"
        try db.query(
            "SELECT key FROM sync_removal WHERE \(condition)", arguments: [],
            columns: [SQLColumn(.text, values: keys.map { .text($0) })]
        ) { _ in isFound = true }
        return isFound
    }

    /// Takes the removals that are due, so that no other server takes them as well. Objects with a row are kept.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - until: the time from which another server may take them, in case this server has stopped.
    static func take(_ limit: Int, at now: Int64, until: Int64, _ db: any SQLConnection) throws -> [Item] {
        var due: [Item] = []
        let sql = "SELECT key, accountID, tries FROM sync_removal WHERE notBefore <= ?1 ORDER BY notBefore LIMIT ?2"
        try db.query(sql, arguments: [.integer(now), .integer(Int64(limit))]) { row in
            if let key = try row.text(0), let account = try row.text(1), let tries = try row.integer(2) {
                due.append(Item(key: key, account: account, tries: tries))
            }
            return true
        }
        // Concurrent servers take them in the same order, and lock the accounts in the same order.
        return try due.sorted { ($0.account, $0.key) < ($1.account, $1.key) }.filter { item in
            let taken = try db.execute(
                "UPDATE sync_removal SET isAsked = 1, notBefore = ?3 WHERE key = ?1 AND notBefore <= ?2",
                arguments: [.text(item.key), .integer(now), .integer(until)])
            guard taken > 0 else { return false }
            guard try hasRow(item.key, db) else { return true }
            try forget(item.key, db)
            return false
        }
    }

    private static func hasRow(_ key: String, _ db: any SQLConnection) throws -> Bool {
        let sql = "SELECT id FROM \(TableSQL.quoted(SyncType.fileTable)) WHERE key = ?1 LIMIT 1"
        return try db.firstText(sql, arguments: [.text(key)]) != nil
    }

    /// Removes an entry when the storage has confirmed the removal or never will.
    static func forget(_ key: String, _ db: any SQLConnection) throws {
        try db.execute("DELETE FROM sync_removal WHERE key = ?1", arguments: [.text(key)])
    }

    /// Schedules another attempt, because the storage has not confirmed the removal.
    static func postpone(_ key: String, notBefore: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_removal SET tries = tries + 1, notBefore = ?2 WHERE key = ?1",
            arguments: [.text(key), .integer(notBefore)])
    }

    /// Counts the pending removals of an account again.
    static func recount(_ account: String, _ db: any SQLConnection) throws {
        let lock = "SELECT a.id FROM sync_account a WHERE a.id = ?1"
        _ = try db.firstText(lock + (db.dialect == .postgres ? " FOR NO KEY UPDATE" : ""), arguments: [.text(account)])
        try db.execute(RemovalSQL.recount("id = ?1", dialect: db.dialect), arguments: [.text(account)])
    }

    /// Postpones all removals. The entries may be older than the rows that devices know.
    ///
    /// - Parameter day: milliseconds since 1970.
    static func postponeAll(until day: Int64, _ db: any SQLConnection) throws {
        try db.execute("UPDATE sync_removal SET notBefore = ?1 WHERE notBefore < ?1", arguments: [.integer(day)])
    }
}
