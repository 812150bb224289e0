import LFSSystem
import LFSWire

/// One sign-in of one device.
struct SyncSession: Sendable, Hashable {
    let id: String
    let account: String
    var epoch: Int64
    /// Why it has to begin anew; nil when it has not.
    let resetReason: SyncReset.Reason?
    let lastBatch: Int64
    let lastBatchID: String
    /// -1 when any may be the next.
    let lastSequence: Int64
    /// Milliseconds since 1970, of its last stream, to a day.
    let seenAt: Int64

    /// The scope of the account's own rows.
    var own: SyncScope { .account(account) }

    /// Whether a batch of acks is the last one that has come.
    func has(_ batch: SyncAckBatch) -> Bool {
        batch.number == lastBatch && (batch.number == 0 || batch.id == lastBatchID)
    }

    /// - Throws: ``WireFailure/Code/otherAccount`` for a device with the rows of another account.
    func requireOwner(_ scope: SyncScope?) throws(WireFailure) {
        guard let scope, scope != own else { return }
        throw WireFailure(.otherAccount, "The session is another account's than the rows of this device.")
    }

    var inNextEpoch: SyncSession {
        var session = self
        session.epoch += 1
        return session
    }
}

/// `sync_session`, `sync_account`: who may ask.
enum SessionTable {
    /// The session of a token; nil when there is none, or it has expired.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - changing: whether the transaction is to change it: others who want to wait for its end.
    static func session(
        ofToken token: String, at now: Int64, changing: Bool = false, _ db: any SQLConnection
    ) throws -> SyncSession? {
        var found: SyncSession?
        let sql = """
            SELECT s.id, s.accountID, s.epoch, s.resetReason, s.lastBatch, s.lastBatchID, s.lastSequence,
                s.historyID <> t.historyID, s.seenAt
            FROM sync_session s JOIN sync_state t ON t.id = 1 WHERE s.tokenHash = ?1
                AND (s.expiresAt IS NULL OR s.expiresAt > ?2)
            """
        let statement = sql + (changing ? db.dialect.forChange : "")
        try db.query(statement, [.text(hash(token)), .integer(now)]) { row in
            guard let id = try row.text(0), let account = try row.text(1), let epoch = try row.integer(2),
                let lastBatch = try row.integer(4), let lastBatchID = try row.text(5),
                let lastSequence = try row.integer(6), let isOfOther = try row.integer(7),
                let seenAt = try row.integer(8)
            else { throw SQLFailure(.unusable, "A row of sync_session lacks a value.") }
            var reason = try row.text(3).map(SyncReset.Reason.init)
            if isOfOther != 0 { reason = .history }
            found = SyncSession(
                id: id, account: account, epoch: epoch, resetReason: reason, lastBatch: lastBatch,
                lastBatchID: lastBatchID, lastSequence: lastSequence, seenAt: seenAt)
            return false
        }
        return found
    }

    /// How many an account has.
    static func count(account name: String, _ db: any SQLConnection) throws -> Int64 {
        var count: Int64 = 0
        let sql = "SELECT count(*) FROM sync_session s JOIN sync_account a ON a.id = s.accountID WHERE a.name = ?1"
        try db.query(sql, [.text(name)]) { row in
            count = try row.integer(0) ?? 0
            return false
        }
        return count
    }

    /// Makes a session for an account, and the account where there is none of that name.
    ///
    /// - Returns: the session's id.
    static func add(
        account name: String, tokenHash: String, device: String, at now: Int64, expiresAt: Int64?,
        _ db: any SQLConnection
    ) throws -> String {
        var id = FileID.make().text
        // Another server may add the same one at this moment, and then its account counts.
        let isNew = try db.execute(
            "INSERT INTO sync_account (id, name) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
            [.text(id), .text(name)])
        if isNew > 0 {
            let scope = SyncScope.account(id).description
            try db.execute("INSERT INTO sync_scope (id) VALUES (?1)", [.text(scope)])
            try db.execute(
                "INSERT INTO sync_grant (scopeID, accountID, role) VALUES (?1, ?2, 'owner')", [.text(scope), .text(id)])
        } else {
            try db.query("SELECT id FROM sync_account WHERE name = ?1", [.text(name)]) { row in
                id = try row.text(0) ?? id
                return false
            }
        }
        let session = FileID.make().text
        try db.execute(
            """
            INSERT INTO sync_session (id, accountID, tokenHash, name, historyID, createdAt, seenAt, expiresAt)
            SELECT ?1, ?2, ?3, ?4, historyID, ?5, ?5, ?6 FROM sync_state WHERE id = 1
            """,
            [
                .text(session), .text(id), .text(tokenHash), .text(device), .integer(now),
                expiresAt.map(SQLValue.integer) ?? .null,
            ])
        return session
    }

    /// Makes a session begin anew.
    ///
    /// - Returns: false when there is none with that id.
    @discardableResult static func require(
        _ reason: SyncReset.Reason, of session: String, _ db: any SQLConnection
    ) throws -> Bool {
        try db.execute(
            "UPDATE sync_session SET resetReason = ?2 WHERE id = ?1", [.text(session), .text(reason.rawValue)]) > 0
    }

    /// Notes that a device was there.
    static func see(_ session: SyncSession, at now: Int64, _ db: any SQLConnection) throws {
        try db.execute("UPDATE sync_session SET seenAt = ?2 WHERE id = ?1", [.text(session.id), .integer(now)])
    }

    static func list(account name: String?, _ db: any SQLConnection) throws -> [SyncSessionInfo] {
        var found: [SyncSessionInfo] = []
        let sql = """
            SELECT s.id, a.name, s.name, s.createdAt, s.seenAt, s.expiresAt
            FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY a.name, s.createdAt, s.id
            """
        try db.query(sql, []) { row in
            guard let id = try row.text(0), let account = try row.text(1), let device = try row.text(2),
                let createdAt = try row.integer(3), let seenAt = try row.integer(4)
            else { throw SQLFailure(.unusable, "A row of sync_session lacks a value.") }
            guard name == nil || name == account else { return true }
            found.append(
                SyncSessionInfo(
                    id: id, account: account, device: device, createdAt: Milliseconds.date(createdAt),
                    seenAt: Milliseconds.date(seenAt), expiresAt: try row.integer(5).map(Milliseconds.date)))
            return true
        }
        return found
    }

    /// - Returns: how many have expired.
    static func removeExpired(at now: Int64, _ db: any SQLConnection) throws -> Int {
        try db.execute("DELETE FROM sync_session WHERE expiresAt <= ?1", [.integer(now)])
    }

    /// Removes those of an account that nobody can use any more, so that they take no place of others.
    static func removeExpired(of account: String, at now: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            """
            DELETE FROM sync_session
            WHERE accountID = (SELECT id FROM sync_account WHERE name = ?1) AND expiresAt <= ?2
            """, [.text(account), .integer(now)])
    }

    /// Whether a session is there still, and has not begun anew.
    static func isCurrent(_ session: SyncSession, _ db: any SQLConnection) throws -> Bool {
        let sql = "SELECT id FROM sync_session WHERE id = ?1 AND epoch = ?2 AND resetReason IS NULL"
        return try db.firstText(sql, [.text(session.id), .integer(session.epoch)]) != nil
    }

    static func remove(_ id: String, _ db: any SQLConnection) throws -> Bool {
        try db.execute("DELETE FROM sync_session WHERE id = ?1", [.text(id)]) > 0
    }

    /// A token is 256 random bits, so that its hash needs no salt.
    static func hash(_ token: String) -> String { ContentHash.hex(ofText: "lfs sync token\n\(token)") }
}
