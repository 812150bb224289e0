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
        let own = SyncScope.account(id).description
        try cutTrees(in: own, db)
        try db.execute("DELETE FROM sync_scope WHERE id = ?1", arguments: [.text(own)])
        try db.execute("DELETE FROM sync_account WHERE id = ?1", arguments: [.text(id)])
        return true
    }

    /// Makes rows that refer to their own table deletable by one statement. Databases cannot delete a chain of
    /// thousands of rows at once. The rows of other accounts below the account's rows are deleted first.
    private func cutTrees(in scope: String, _ db: any SQLConnection) throws {
        let trees = schema.references.filter { $0.child.name == $0.parent.name && $0.action == .cascade }
        if trees.isEmpty { return }
        for reference in schema.references where reference.action == .cascade {
            let (child, parent) = (TableSQL.quoted(reference.child.name), TableSQL.quoted(reference.parent.name))
            let column = TableSQL.quoted(reference.column)
            var keys: [String] = []
            try db.query(
                """
                SELECT DISTINCT p.id FROM \(parent) p JOIN \(child) c ON c.\(column) = p.id
                WHERE p.scopeID = ?1 AND c.scopeID <> ?1
                """, arguments: [.text(scope)]
            ) { row in
                if let key = try row.text(0) { keys.append(key) }
                return true
            }
            let dependents = DependentRows(schema: schema, table: reference.parent)
            for key in keys {
                while try dependents.removeSome(below: key, db) >= DependentRows.step {}
            }
        }
        for reference in trees {
            let (name, column) = (TableSQL.quoted(reference.child.name), TableSQL.quoted(reference.column))
            try db.execute(
                "UPDATE \(name) SET \(column) = id WHERE scopeID = ?1 AND \(column) <> id",
                arguments: [.text(scope)])
        }
    }
}
