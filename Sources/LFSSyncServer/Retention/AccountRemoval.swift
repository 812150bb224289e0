import LFSWire

/// Takes an account away with all that it has: its rows, its sessions, and its part in what others share. Its own rows
/// leave no deletions, for nobody is left to hear of them; from shared containers they go as any row does.
struct AccountRemoval: Sendable {
    let schema: CheckedSchema

    /// - Returns: false when there is none of that name.
    func remove(named name: String, _ db: any SQLConnection) throws -> Bool {
        guard let id = try db.firstText("SELECT id FROM sync_account WHERE name = ?1", [.text(name)]) else {
            return false
        }
        for container in schema.sharing.containers {
            let account = TableSQL.quoted(container.account)
            try db.execute("DELETE FROM \(TableSQL.quoted(container.members)) WHERE \(account) = ?1", [.text(id)])
        }
        if let partners = schema.sharing.partners {
            let to = TableSQL.quoted(partners.to)
            try db.execute("DELETE FROM \(TableSQL.quoted(partners.table)) WHERE \(to) = ?1", [.text(id)])
        }
        try db.execute("DELETE FROM sync_scope WHERE id = ?1", [.text(SyncScope.account(id).description)])
        try db.execute("DELETE FROM sync_account WHERE id = ?1", [.text(id)])
        return true
    }
}
