import LFSWire

/// The removal of an account with its rows, its sessions, and its part in shared containers. Its own rows leave no
/// tombstones, because no device remains to receive them. Rows in shared containers are deleted like any other row.
struct AccountRemoval: Sendable {
    let schema: CheckedSchema

    /// Removes an account.
    ///
    /// - Returns: false if no account has that name.
    func remove(named name: String, _ db: any SQLConnection) throws -> Bool {
        guard let id = try db.firstText("SELECT id FROM sync_account WHERE name = ?1", arguments: [.text(name)]) else {
            return false
        }
        for container in schema.sharing.containers {
            let account = TableSQL.quoted(container.account)
            try db.execute(
                "DELETE FROM \(TableSQL.quoted(container.members)) WHERE \(account) = ?1", arguments: [.text(id)])
        }
        if let partners = schema.sharing.partners {
            let to = TableSQL.quoted(partners.to)
            try db.execute("DELETE FROM \(TableSQL.quoted(partners.table)) WHERE \(to) = ?1", arguments: [.text(id)])
        }
        try db.execute("DELETE FROM sync_scope WHERE id = ?1", arguments: [.text(SyncScope.account(id).description)])
        try db.execute("DELETE FROM sync_account WHERE id = ?1", arguments: [.text(id)])
        return true
    }
}
