import LFSWire

/// Queries for the rows of `lfs_file` with the key of an object.
enum FileKeys {
    private static let table = TableSQL.quoted(SyncType.fileTable)

    /// Returns the key and the owner of a file's object. The owner is the account of the row, if the key's namespace
    /// belongs to that account. Nil for a row that was written or moved by hand.
    static func owner(ofFile id: String, _ db: any SQLConnection) throws -> (key: String, account: String)? {
        guard let key = try db.firstText("SELECT key FROM \(table) WHERE id = ?1", arguments: [.text(id)]),
            let account = try NamespaceTable.owner(of: key, db),
            let scope = try db.firstText("SELECT scopeID FROM \(table) WHERE id = ?1", arguments: [.text(id)]),
            scope == SyncScope.account(account).description
        else { return nil }
        return (key, account)
    }

    /// Returns the owner of an object that an account may read, because it sees a row of the owner with that key. Nil
    /// for any other object.
    static func owner(of key: String, readableBy account: String, _ db: any SQLConnection) throws -> String? {
        guard let owner = try NamespaceTable.owner(of: key, db) else { return nil }
        let sql = """
            SELECT t.id FROM \(table) t
            WHERE t.key = ?1 AND t.scopeID = ?3 AND \(RowAuthorization.isVisible(SyncType.fileTable)) LIMIT 1
            """
        let arguments: [SQLValue] = [.text(key), .text(account), .text(SyncScope.account(owner).description)]
        return try db.firstText(sql, arguments: arguments) == nil ? nil : owner
    }
}
