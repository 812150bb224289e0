/// `sync_namespace`, and what `sync_session` has of it: with what the object keys of a device's files begin.
///
/// A namespace belongs to the account that came with it first, for ever: nobody puts rows before the objects of others.
/// Within the account it is the session's that made a file with it first.
enum NamespaceTable {
    /// The first part of an object key; nil for a key without two parts.
    static func namespace(of key: String) -> String? {
        guard let slash = key.firstIndex(of: "/"), slash != key.startIndex, key.index(after: slash) != key.endIndex
        else {
            return nil
        }
        return String(key[..<slash])
    }

    /// The account that has the namespace of a key; nil for one that nobody has.
    static func owner(of key: String, _ db: any SQLConnection) throws -> String? {
        guard let namespace = namespace(of: key) else { return nil }
        return try db.firstText("SELECT accountID FROM sync_namespace WHERE namespace = ?1", [.text(namespace)])
    }

    /// - Parameter isMaker: whether the session's own database made the file, as far as one can see: its bytes are not
    ///   in the store yet.
    /// - Returns: false when it is another account's.
    static func claim(
        _ namespace: String, for session: SyncSession, isMaker: Bool, _ db: any SQLConnection
    ) throws -> Bool {
        let owner = try db.firstText("SELECT accountID FROM sync_namespace WHERE namespace = ?1", [.text(namespace)])
        if owner == nil {
            try db.execute(
                "INSERT INTO sync_namespace (namespace, accountID) VALUES (?1, ?2)",
                [.text(namespace), .text(session.account)])
        }
        guard owner == nil || owner == session.account else { return false }
        if try isMaker || isFree(namespace, db) {
            try db.execute(
                "UPDATE sync_session SET namespace = ?2 WHERE id = ?1 AND namespace = ''",
                [.text(session.id), .text(namespace)])
        }
        return true
    }

    /// Whether the session made the files with a namespace. One that has none yet takes one of its account's, as after
    /// a new sign-in: the session of before may be there still.
    static func isHeld(_ namespace: String, by session: SyncSession, _ db: any SQLConnection) throws -> Bool {
        let held = try db.firstText("SELECT namespace FROM sync_session WHERE id = ?1", [.text(session.id)])
        if held == namespace { return true }
        guard held == "" else { return false }
        return try claim(namespace, for: session, isMaker: true, db)
    }

    private static func isFree(_ namespace: String, _ db: any SQLConnection) throws -> Bool {
        try db.firstText("SELECT id FROM sync_session WHERE namespace = ?1", [.text(namespace)]) == nil
    }
}
