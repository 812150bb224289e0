import LFSWire

/// What those do who run the server.
extension SyncService {
    /// Forgets deletions, and sessions that have expired. A device that was away for longer begins anew what it lacks.
    ///
    /// - Parameter age: of the deletions that go; ninety days by default.
    /// - Returns: how many deletions were forgotten.
    /// - Throws: ``SQLFailure``.
    @discardableResult public func prune(olderThan age: Duration = .seconds(90 * 86_400)) async throws -> Int {
        let now = Milliseconds.of(options.now())
        let bound = Pruning.position(at: now - Milliseconds.of(age))
        var count = 0
        var hasMore = true
        while hasMore {
            let step = try await database.write { try Pruning.prune(below: bound, $0) }
            (count, hasMore) = (count + step.count, step.hasMore)
        }
        _ = try await database.write { try SessionTable.removeExpired(at: now, $0) }
        return count
    }

    /// Tells all devices that the store was put back from a backup: they keep what they have, take what is there, and
    /// send what it lacks. Objects that were to be removed stay for thirty days more, in which devices bring back the
    /// rows of those that the backup did not know to be needed again.
    ///
    /// - Throws: ``SQLFailure``.
    public func restored() async throws {
        let day = Milliseconds.of(options.now()) + 30 * Milliseconds.day
        try await database.write { db in
            try SchemaTable.renewHistory(db)
            try RemovalTable.postponeAll(until: day, db)
        }
    }

    /// Makes a session begin anew: it gets every row again.
    ///
    /// - Returns: false when there is none with that id.
    /// - Throws: ``SQLFailure``.
    public func resetSession(_ id: String) async throws -> Bool {
        try await database.write { try SessionTable.require(.operator, of: id, $0) }
    }

    /// The sessions of an account, or of all, in the order of the accounts and of their age.
    ///
    /// - Throws: ``SQLFailure``.
    public func sessions(account: String? = nil) async throws -> [SyncSessionInfo] {
        try await database.read { try SessionTable.list(account: account, $0) }
    }

    /// Revokes a session. A stream of it ends at its next page.
    ///
    /// - Returns: false when there is none with that id.
    /// - Throws: ``SQLFailure``.
    public func removeSession(_ id: String) async throws -> Bool {
        try await database.write { try SessionTable.remove(id, $0) }
    }

    /// Ends the session of a token, as a device that signs out does.
    ///
    /// - Returns: false when there is none of that token.
    /// - Throws: ``SQLFailure``.
    public func endSession(token: String) async throws -> Bool {
        // Whoever makes tokens up takes no writer's turn.
        guard SessionToken.isOne(token), try await account(ofToken: token) != nil else { return false }
        let now = Milliseconds.of(options.now())
        return try await database.write { db in
            guard let session = try SessionTable.session(ofToken: token, at: now, db) else { return false }
            return try SessionTable.remove(session.id, db)
        }
    }

    /// Takes an account away with its rows, its sessions, and its part in what others share. Objects in the storage
    /// stay.
    ///
    /// - Returns: false when there is none of that name.
    /// - Throws: ``SQLFailure``.
    public func removeAccount(named name: String) async throws -> Bool {
        let removal = AccountRemoval(schema: schema)
        return try await database.write { try removal.remove(named: name, $0) }
    }
}
