import LFSWire
import Logging

/// Operations for the operators of a server.
extension SyncService {
    /// Removes old tombstones and expired sessions. A device that was away for longer starts the affected scopes over.
    ///
    /// - Parameter age: the minimum age of the removed tombstones, by default ninety days.
    /// - Returns: the number of removed tombstones.
    /// - Throws: ``SQLFailure``.
    @discardableResult public func prune(olderThan age: Duration = .seconds(90 * 86_400)) async throws -> Int {
        let now = Milliseconds.of(options.now())
        let bound = Pruning.position(at: now - Milliseconds.of(age))
        var count = 0
        var place = Pruning.Place?.some(.start)
        while let current = place {
            let step = try await database.write { try Pruning.prune(from: current, below: bound, $0) }
            count += step.count
            place = step.next
        }
        let limit = 50
        while try await database.write({ try SessionTable.removeExpired(at: now, limit: limit, $0) }) == limit {}
        return count
    }

    /// Records that the store was restored from a backup. Devices keep their rows, receive those of the store, and send
    /// the rows that it lacks. Pending removals of objects are postponed by thirty days. In this time, devices send
    /// rows that refer to these objects again and are missing in the backup.
    ///
    /// - Throws: ``SQLFailure``.
    public func restored() async throws {
        let day = Milliseconds.of(options.now()) + 30 * Milliseconds.day
        try await database.write { db in
            try PostgresOrder.liftLimit(db)
            try SchemaTable.renewHistory(db)
            try RemovalTable.postponeAll(until: day, db)
        }
    }

    /// Compares the store with a mark of an earlier call. If the store is an older copy, the service does the same as
    /// ``restored()`` and logs an error. Call it before the first request and then once a minute.
    ///
    /// - Parameter mark: the mark that the last call has returned, or nil for the first call.
    /// - Returns: the next mark, and true if the store was an older copy. The host keeps the mark where no restore of
    ///   the database reaches it.
    /// - Throws: ``SQLFailure``.
    public func compareHistory(
        with mark: SyncHistoryMark?
    ) async throws -> (mark: SyncHistoryMark, wasRestored: Bool) {
        let day = Milliseconds.of(options.now()) + 30 * Milliseconds.day
        let check = try await database.write { db in
            let check = try HistoryCheck(after: mark, db)
            guard check.finding != nil else { return check }
            try PostgresOrder.liftLimit(db)
            try RemovalTable.postponeAll(until: day, db)
            return check
        }
        if let finding = check.finding {
            logger.error(
                "The database was restored from a backup. All devices start over, and send the rows that it lacks.",
                metadata: ["reason": "\(finding.rawValue)"])
            poke()
        }
        return (check.mark, check.finding != nil)
    }

    /// Makes a session start over, so that it receives every row again.
    ///
    /// - Returns: false if no session has that id.
    /// - Throws: ``SQLFailure``.
    public func resetSession(_ id: String) async throws -> Bool {
        try await database.write { try SessionTable.require(.operator, of: id, $0) }
    }

    /// Returns the sessions of an account or of all accounts, sorted by account and age.
    ///
    /// - Throws: ``SQLFailure``.
    public func sessions(account: String? = nil) async throws -> [SyncSessionInfo] {
        try await database.read { try SessionTable.list(account: account, $0) }
    }

    /// Revokes a session. Its stream ends at the next page.
    ///
    /// - Returns: false if no session has that id.
    /// - Throws: ``SQLFailure``.
    public func removeSession(_ id: String) async throws -> Bool {
        try await database.write { try SessionTable.remove(id, $0) }
    }

    /// Revokes all sessions of an account. Their streams end at the next page.
    ///
    /// - Returns: the number of revoked sessions.
    /// - Throws: ``SQLFailure``.
    public func removeSessions(account: String) async throws -> Int {
        try await database.write { try SessionTable.removeAll(of: account, $0) }
    }

    /// Ends the session of a token, as a device does when it signs out.
    ///
    /// - Returns: false if no session has that token.
    /// - Throws: ``SQLFailure``.
    public func endSession(token: String) async throws -> Bool {
        // A client with invented tokens must not occupy the writer.
        guard SessionToken.isOne(token), try await account(ofToken: token) != nil else { return false }
        let now = Milliseconds.of(options.now())
        return try await database.write { db in
            guard let session = try SessionTable.session(ofToken: token, at: now, db) else { return false }
            return try SessionTable.remove(session.id, db)
        }
    }

    /// Removes an account with its rows, its sessions, and its part in shared containers. Objects in the storage stay.
    ///
    /// The removal is one transaction without a time limit. On SQLite, no other change is possible until its end, so
    /// remove a large account when few devices sync.
    ///
    /// - Returns: false if no account has that name.
    /// - Throws: ``SQLFailure``.
    public func removeAccount(named name: String) async throws -> Bool {
        let removal = AccountRemoval(schema: schema)
        return try await database.write { db in
            try PostgresOrder.liftLimit(db)
            return try removal.remove(named: name, db)
        }
    }
}
