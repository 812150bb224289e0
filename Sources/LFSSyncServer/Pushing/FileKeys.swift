import LFSWire

/// Which rows of `lfs_file` there are for the key of an object.
enum FileKeys {
    private static let table = TableSQL.quoted(SyncType.fileTable)

    /// Who owns the object of a file: the account whose row it is, if the key's namespace belongs to it. A row that
    /// somebody has written or moved by hand owns nothing.
    static func owner(ofFile id: String, _ db: any SQLConnection) throws -> (key: String, account: String)? {
        guard let key = try db.firstText("SELECT key FROM \(table) WHERE id = ?1", [.text(id)]),
            let account = try NamespaceTable.owner(of: key, db),
            let scope = try db.firstText("SELECT scopeID FROM \(table) WHERE id = ?1", [.text(id)]),
            scope == SyncScope.account(account).description
        else { return nil }
        return (key, account)
    }

    /// Whose object an account may read, because it sees a row of the owner that has the key; nil for nobody's.
    static func owner(of key: String, readableBy account: String, _ db: any SQLConnection) throws -> String? {
        guard let owner = try NamespaceTable.owner(of: key, db) else { return nil }
        let sql = """
            SELECT t.id FROM \(table) t
            WHERE t.key = ?1 AND t.scopeID = ?3 AND \(RowRights.isVisible(SyncType.fileTable)) LIMIT 1
            """
        let arguments: [SQLValue] = [.text(key), .text(account), .text(SyncScope.account(owner).description)]
        return try db.firstText(sql, arguments) == nil ? nil : owner
    }
}
