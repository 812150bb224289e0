import Foundation
import LFSSystem
import LFSWire

/// A sign-in of one device.
struct SyncSession: Sendable, Hashable {
    let id: String
    let account: String
    var epoch: Int64
    /// The reason why the session must start over, or nil.
    let resetReason: SyncReset.Reason?
    let lastBatch: Int64
    let lastBatchID: String
    /// The number of the last mutation, or -1 if any number may be the next.
    let lastSequence: Int64
    /// The time of the last stream in milliseconds since 1970, accurate to a day.
    let seenAt: Int64
    /// The time after the last use at which the session expires, in milliseconds. Nil if it does not.
    var idleTime: Int64?
    var rights = SyncSessionRights()
    /// The identity of the history of the store when the session began or last started over.
    var historyID = ""

    /// The scope of the account's own rows.
    var own: SyncScope { .account(account) }

    /// True if the session has received no batch of acks, and the store is not known to be an older copy.
    var isNew: Bool { lastBatch == 0 && lastBatchID.isEmpty && resetReason != .history }

    /// Returns true if a batch of acks is the last one that was received.
    func has(_ batch: SyncAckBatch) -> Bool {
        batch.number == lastBatch && (batch.number == 0 || batch.id == lastBatchID)
    }

    /// Checks the owner of the rows on a device.
    ///
    /// - Throws: ``WireFailure/Code/otherAccount`` for a device with the rows of another account.
    func requireOwner(_ scope: SyncScope?) throws(WireFailure) {
        try Self.requireOwner(scope, account: account)
    }

    /// Checks the owner of the rows on a device of an account.
    ///
    /// - Throws: ``WireFailure/Code/otherAccount`` for a device with the rows of another account.
    static func requireOwner(_ scope: SyncScope?, account: String) throws(WireFailure) {
        guard let scope, scope != .account(account) else { return }
        throw WireFailure(
            .otherAccount,
            message: "The session belongs to another account than the rows of this device.")
    }

    /// Returns true if a use of the session has to be recorded.
    func isDue(at now: Int64) -> Bool { now - seenAt > min(Milliseconds.day, (idleTime ?? .max) / 2) }

    var inNextEpoch: SyncSession {
        var session = self
        session.epoch += 1
        return session
    }
}

/// A session whose row and own scope are locked until the end of the transaction.
struct HeldSession: Sendable {
    let session: SyncSession
    /// The head of the session's own scope.
    let head: String
    /// Indicates that the latest answer to the session is a refusal.
    let hasRefusal: Bool
    /// The usage of the session's own scope.
    let usage: AccountUsage
    /// The number of records of deletions in the session's own scope.
    let deletions: Int64
    /// The bytes of the account's pending removals of objects.
    let removalBytes: Int64
    /// The limits of the account that differ from those of the server.
    let limits: OwnLimits
}

/// The tables `sync_session` and `sync_account` of sign-ins and accounts.
enum SessionTable {
    /// Returns the session of a token, or nil if the session does not exist or has expired.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - changing: true if the transaction will change the session. Others that want to change it then wait for its
    ///     end.
    static func session(
        ofToken token: String, at now: Int64, changing: Bool = false, _ db: any SQLConnection
    ) throws -> SyncSession? {
        let statement = "SELECT \(columns) \(source) WHERE \(isOpen)"
        return try session(statement + (changing ? db.dialect.forChange : ""), token: token, at: now, db)
    }

    /// Returns the session of a token for a push. Pushes and changes of the same session or scope wait for the end of
    /// the transaction.
    static func holding(_ token: String, at now: Int64, _ db: any SQLConnection) throws -> HeldSession? {
        let statement = """
            SELECT \(columns), o.head, CASE WHEN EXISTS (
                SELECT 1 FROM sync_mutation m WHERE m.sessionID = s.id AND m.sequence = s.lastSequence
                    AND m.result NOT LIKE '%"result":"applied"%') THEN 1 ELSE 0 END,
                \(AccountTable.counters), \(AccountTable.limits), o.deletionCount, a.removalBytes
            \(source) JOIN sync_scope o ON o.id = 'account/' || s.accountID JOIN sync_account a ON a.id = s.accountID
            WHERE \(isOpen)
            """
        var head = ""
        var hasRefusal = false
        var usage = AccountUsage()
        var limits = OwnLimits()
        var (deletions, removalBytes) = (Int64(0), Int64(0))
        let session = try session(statement + db.dialect.forPush, token: token, at: now, db) { row in
            head = try row.text(13) ?? ""
            hasRefusal = try row.integer(14) == 1
            usage = try AccountUsage(row, from: 15)
            limits = try OwnLimits(row, from: 18)
            deletions = try row.integer(18 + AccountLimit.allCases.count) ?? 0
            removalBytes = try row.integer(19 + AccountLimit.allCases.count) ?? 0
        }
        return session.map {
            HeldSession(
                session: $0, head: head, hasRefusal: hasRefusal, usage: usage, deletions: deletions,
                removalBytes: removalBytes, limits: limits)
        }
    }

    private static let columns = """
        s.id, s.accountID, s.epoch, s.resetReason, s.lastBatch, s.lastBatchID, s.lastSequence,
                s.historyID <> t.historyID, s.seenAt, s.idleTime, s.isReadOnly, s.types,
                s.historyID
        """
    private static let source = "FROM sync_session s JOIN sync_state t ON t.id = 1"
    private static let isOpen = "s.tokenHash = ?1 AND (s.expiresAt IS NULL OR s.expiresAt > ?2)"

    private static func session(
        _ statement: String, token: String, at now: Int64, _ db: any SQLConnection,
        reading more: (any SQLRow) throws -> Void = { _ in }
    ) throws -> SyncSession? {
        var found: SyncSession?
        try db.query(statement, arguments: [.text(hash(token)), .integer(now)]) { row in
            guard let id = try row.text(0), let account = try row.text(1), let epoch = try row.integer(2),
                let lastBatch = try row.integer(4), let lastBatchID = try row.text(5),
                let lastSequence = try row.integer(6), let isOfOther = try row.integer(7),
                let seenAt = try row.integer(8)
            else { throw SQLFailure(.unusable, message: "A row of sync_session lacks a value.") }
            var reason = try row.text(3).map(SyncReset.Reason.init)
            if isOfOther != 0 { reason = .history }
            found = SyncSession(
                id: id, account: account, epoch: epoch, resetReason: reason, lastBatch: lastBatch,
                lastBatchID: lastBatchID, lastSequence: lastSequence, seenAt: seenAt, idleTime: try row.integer(9),
                rights: SyncSessionRights(isReadOnly: try row.integer(10) != 0, types: try row.text(11)),
                historyID: try row.text(12) ?? "")
            try more(row)
            return false
        }
        return found
    }

    /// Returns the number of sessions of an account.
    static func count(account name: String, _ db: any SQLConnection) throws -> Int64 {
        var count: Int64 = 0
        let sql = "SELECT count(*) FROM sync_session s JOIN sync_account a ON a.id = s.accountID WHERE a.name = ?1"
        try db.query(sql, arguments: [.text(name)]) { row in
            count = try row.integer(0) ?? 0
            return false
        }
        return count
    }

    /// The part of a new session that its creator chooses.
    struct Terms: Sendable {
        var device = ""
        /// The time after the last use at which the session expires, in milliseconds.
        var idleTime: Int64?
        /// The time at which the session ends in any case, in milliseconds since 1970.
        var endsAt: Int64?
        var rights = SyncSessionRights()
    }

    /// Returns the id of an account. Creates the account if no account has that name.
    static func account(named name: String, _ db: any SQLConnection) throws -> String {
        var id = FileID.make().text
        // Another server may add the same account at this moment. That account is then used.
        let isNew = try db.execute(
            "INSERT INTO sync_account (id, name) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
            arguments: [.text(id), .text(name)])
        if isNew > 0 {
            let scope = SyncScope.account(id).description
            try db.execute("INSERT INTO sync_scope (id) VALUES (?1)", arguments: [.text(scope)])
            try db.execute(
                "INSERT INTO sync_grant (scopeID, accountID, role) VALUES (?1, ?2, 'owner')",
                arguments: [.text(scope), .text(id)])
        } else {
            try db.query("SELECT id FROM sync_account WHERE name = ?1", arguments: [.text(name)]) { row in
                id = try row.text(0) ?? id
                return false
            }
        }
        return id
    }

    /// Creates a session for an account.
    ///
    /// - Parameter account: the id of the account.
    /// - Returns: the session's id.
    static func add(
        account: String, tokenHash: String, terms: Terms, at now: Int64, _ db: any SQLConnection
    ) throws -> String {
        let session = FileID.make().text
        try db.execute(
            """
            INSERT INTO sync_session (id, accountID, tokenHash, name, historyID, createdAt, seenAt, idleTime, endsAt,
                isReadOnly, types)
            SELECT ?1, ?2, ?3, ?4, historyID, ?5, ?5, ?6, ?7, ?8, ?9 FROM sync_state WHERE id = 1
            """,
            arguments: [
                .text(session), .text(account), .text(tokenHash), .text(terms.device), .integer(now),
                terms.idleTime.map(SQLValue.integer) ?? .null, terms.endsAt.map(SQLValue.integer) ?? .null,
                .integer(terms.rights.isReadOnly ? 1 : 0), terms.rights.text.map(SQLValue.text) ?? .null,
            ])
        try see(session, at: now, db)
        return session
    }

    /// Returns the earlier one of two ends of a session, in milliseconds since 1970. Nil for none.
    static func end(at now: Int64, lifetime: Duration?, latestEnd: Date?) -> Int64? {
        [lifetime.map { now + Milliseconds.of($0) }, latestEnd.map(Milliseconds.of)].compactMap(\.self).min()
    }

    /// Moves the end of a session of an account, which its identity provider has confirmed again.
    ///
    /// - Parameter endsAt: milliseconds since 1970, or nil for no end.
    /// - Returns: false if the account has no session with that token.
    static func extend(
        _ token: String, account name: String, until endsAt: Int64?, at now: Int64, _ db: any SQLConnection
    ) throws -> Bool {
        guard let session = try session(ofToken: token, at: now, changing: true, db) else { return false }
        let count = try db.execute(
            """
            UPDATE sync_session SET endsAt = ?2
            WHERE id = ?1 AND accountID = (SELECT id FROM sync_account WHERE name = ?3)
            """, arguments: [.text(session.id), endsAt.map(SQLValue.integer) ?? .null, .text(name)])
        if count > 0 { try see(session.id, at: now, db) }
        return count > 0
    }

    /// Makes a session start over.
    ///
    /// - Returns: false if no session has that id.
    @discardableResult static func require(
        _ reason: SyncReset.Reason, of session: String, _ db: any SQLConnection
    ) throws -> Bool {
        try db.execute(
            "UPDATE sync_session SET resetReason = ?2 WHERE id = ?1",
            arguments: [.text(session), .text(reason.rawValue)]) > 0
    }

    /// Records that a session was used, which postpones its expiry.
    static func see(_ session: String, at now: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            """
            UPDATE sync_session SET seenAt = ?2, expiresAt = CASE
                WHEN idleTime IS NULL OR endsAt < ?2 + idleTime THEN endsAt ELSE ?2 + idleTime END
            WHERE id = ?1
            """, arguments: [.text(session), .integer(now)])
    }

    static func list(account name: String?, _ db: any SQLConnection) throws -> [SyncSessionInfo] {
        var found: [SyncSessionInfo] = []
        let sql = """
            SELECT s.id, a.name, s.name, s.createdAt, s.seenAt, s.expiresAt, s.isReadOnly, s.types
            FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY a.name, s.createdAt, s.id
            """
        try db.query(sql, arguments: []) { row in
            guard let id = try row.text(0), let account = try row.text(1), let device = try row.text(2),
                let createdAt = try row.integer(3), let seenAt = try row.integer(4)
            else { throw SQLFailure(.unusable, message: "A row of sync_session lacks a value.") }
            guard name == nil || name == account else { return true }
            found.append(
                SyncSessionInfo(
                    id: id, account: account, device: device, createdAt: Milliseconds.date(createdAt),
                    seenAt: Milliseconds.date(seenAt), expiresAt: try row.integer(5).map(Milliseconds.date),
                    rights: SyncSessionRights(isReadOnly: try row.integer(6) != 0, types: try row.text(7))))
            return true
        }
        for index in found.indices {
            found[index].contacts = try CheckpointTable.contacts(ofSession: found[index].id, db)
        }
        return found
    }

    /// Removes some expired sessions. Each may have thousands of checkpoints and results of mutations.
    ///
    /// - Returns: the number of removed sessions, which is below the limit after the last one.
    static func removeExpired(at now: Int64, limit: Int, _ db: any SQLConnection) throws -> Int {
        try db.execute(
            """
            DELETE FROM sync_session WHERE expiresAt <= ?1
                AND id IN (SELECT id FROM sync_session WHERE expiresAt <= ?1 LIMIT ?2)
            """, arguments: [.integer(now), .integer(Int64(limit))])
    }

    /// Removes the expired sessions of an account, so that they do not count towards its limit.
    static func removeExpired(of account: String, at now: Int64, _ db: any SQLConnection) throws {
        try db.execute(
            """
            DELETE FROM sync_session
            WHERE accountID = (SELECT id FROM sync_account WHERE name = ?1) AND expiresAt <= ?2
            """, arguments: [.text(account), .integer(now)])
    }

    /// Returns true if a session still exists, has not expired, and has not started over.
    ///
    /// - Parameter now: milliseconds since 1970.
    static func isCurrent(_ session: SyncSession, at now: Int64, _ db: any SQLConnection) throws -> Bool {
        let sql = """
            SELECT id FROM sync_session
            WHERE id = ?1 AND epoch = ?2 AND resetReason IS NULL AND (expiresAt IS NULL OR expiresAt > ?3)
            """
        let arguments: [SQLValue] = [.text(session.id), .integer(session.epoch), .integer(now)]
        return try db.firstText(sql, arguments: arguments) != nil
    }

    static func remove(_ id: String, _ db: any SQLConnection) throws -> Bool {
        try db.execute("DELETE FROM sync_session WHERE id = ?1", arguments: [.text(id)]) > 0
    }

    /// Removes the sessions of an account.
    ///
    /// - Returns: the number of removed sessions.
    static func removeAll(of account: String, _ db: any SQLConnection) throws -> Int {
        try db.execute(
            "DELETE FROM sync_session WHERE accountID = (SELECT id FROM sync_account WHERE name = ?1)",
            arguments: [.text(account)])
    }

    /// Returns the hash of a token. A token has 256 random bits, so its hash needs no salt.
    static func hash(_ token: String) -> String { ContentHash.hex(ofText: "lfs sync token\n\(token)") }
}
