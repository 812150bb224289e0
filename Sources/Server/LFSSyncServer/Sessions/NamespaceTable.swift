import LFSWire

/// The table `sync_namespace` and the namespaces in `sync_session`. A namespace is the first part of the object keys of
/// a device's files.
///
/// A namespace belongs forever to the account that used it first. This keeps an account from creating rows for the
/// objects of another one. Within the account, it belongs to the session that first created a file with it.
enum NamespaceTable {
    /// Returns the first part of an object key, or nil for a key without two parts.
    static func namespace(of key: String) -> String? {
        guard let slash = key.firstIndex(of: "/"), slash != key.startIndex, key.index(after: slash) != key.endIndex
        else {
            return nil
        }
        return String(key[..<slash])
    }

    /// Returns the account that owns the namespace of a key, or nil if it has no owner.
    static func owner(of key: String, _ db: any SQLConnection) throws -> String? {
        guard let namespace = namespace(of: key) else { return nil }
        return try db.firstText(
            "SELECT accountID FROM sync_namespace WHERE namespace = ?1", arguments: [.text(namespace)])
    }

    /// Claims a namespace for the session's account.
    ///
    /// - Parameters:
    ///   - isMaker: true if the session's own database appears to have created the file, because its bytes are not in
    ///     the storage yet.
    ///   - limit: the maximum number of namespaces of the account.
    /// - Returns: false if the namespace belongs to another account.
    /// - Throws: ``WireFailure/Code/quotaExceeded``, `SQLFailure`.
    static func claim(
        _ namespace: String, for session: SyncSession, isMaker: Bool, limit: Int64, _ db: any SQLConnection
    ) throws -> Bool {
        let owner = try db.firstText(
            "SELECT accountID FROM sync_namespace WHERE namespace = ?1", arguments: [.text(namespace)])
        if owner == nil { try add(namespace, account: session.account, limit: limit, db) }
        guard owner == nil || owner == session.account else { return false }
        if try isMaker || isFree(namespace, db) {
            try db.execute(
                "UPDATE sync_session SET namespace = ?2 WHERE id = ?1 AND namespace = ''",
                arguments: [.text(session.id), .text(namespace)])
        }
        return true
    }

    /// Adds a namespace without an owner. It is never removed, so an account may have only some of them.
    private static func add(_ namespace: String, account: String, limit: Int64, _ db: any SQLConnection) throws {
        let addedCount = try db.execute(
            """
            INSERT INTO sync_namespace (namespace, accountID) SELECT ?1, ?2
            WHERE (SELECT count(*) FROM sync_namespace WHERE accountID = ?2) < ?3
            """, arguments: [.text(namespace), .text(account), .integer(limit)])
        guard addedCount == 0 else { return }
        var failure = WireFailure(
            .quotaExceeded,
            message: """
                The keys of an account's files may begin with at most \(limit) namespaces. Create the file in a \
                database that has synced files before, or ask the operator for a larger quota.
                """)
        failure.exceeded = ExceededLimit(name: "namespaces", value: limit)
        throw failure
    }

    /// Returns true if the session created the files with a namespace. A session without a namespace takes one of its
    /// account, as after a new sign-in. The previous session may still exist.
    static func isHeld(_ namespace: String, by session: SyncSession, _ db: any SQLConnection) throws -> Bool {
        let held = try db.firstText("SELECT namespace FROM sync_session WHERE id = ?1", arguments: [.text(session.id)])
        if held == namespace { return true }
        guard held == "" else { return false }
        // A row has the namespace, so it is not new.
        return try claim(namespace, for: session, isMaker: true, limit: .max, db)
    }

    private static func isFree(_ namespace: String, _ db: any SQLConnection) throws -> Bool {
        try db.firstText("SELECT id FROM sync_session WHERE namespace = ?1", arguments: [.text(namespace)]) == nil
    }
}
