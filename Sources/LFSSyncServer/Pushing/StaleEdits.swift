import LFSWire

/// Changes of rows that have changed since the device saw them.
///
/// A device says with a change how far the row's type had come in a scope that gives it the row, and whether it had
/// changed the row itself just before. The row is as the device knew it if its position in that scope is not beyond, or
/// if it is where that change has put it.
struct StaleEdits: Sendable {
    let sql: TableSQL
    /// Of the type that came.
    let version: Int
    let policy: SyncConflictPolicy

    enum Outcome {
        /// The change is stored as it came.
        case asSent
        /// These columns are stored instead.
        case stored(SyncRow)
        case refused
    }

    /// - Parameter scope: of the row, which the session may change.
    /// - Throws: ``WireFailure`` of the host's own rule.
    func outcome(
        of mutation: SyncMutation, in scope: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> Outcome {
        // Devices that do not say what they had seen are believed.
        guard let seen = mutation.seen, policy.isCareful else { return .asSent }
        // Another account of a shared scope may write the row at this moment.
        try PostgresOrder.hold(scope, db)
        guard try !isFresh(mutation.key, seen, session, db) else { return .asSent }
        let isDeletion = mutation.operation == .delete
        // What is there already, such as after a reply that was lost, stands in nobody's way.
        if !isDeletion, try changed(by: mutation, db).isEmpty { return .asSent }
        guard case .resolve(let resolve) = policy else { return .refused }
        return isDeletion ? .asSent : try resolved(mutation, resolve, db)
    }

    private func isFresh(
        _ key: String, _ seen: SyncSeen, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> Bool {
        if let after = seen.after, let position = try MutationTable.position(of: after, session, db),
            try sql.position(of: key, for: session, db) == position
        {
            return true
        }
        let now = try sql.position(of: key, in: seen.scope ?? session.own, for: session, db)
        return now.map { $0 <= seen.position } ?? false
    }

    /// What of the row would be another.
    private func changed(by mutation: SyncMutation, _ db: any SQLConnection) throws -> Set<String> {
        let row = try self.row(mutation.key, version: version, db)
        return Set(mutation.row.values.filter { row[$0.key] != $0.value }.keys)
    }

    private func resolved(
        _ mutation: SyncMutation, _ resolve: (SyncConflict) throws -> [String: SQLValue], _ db: any SQLConnection
    ) throws -> Outcome {
        let server = try row(mutation.key, version: sql.table.versions.count, db)
        let conflict = SyncConflict(
            table: sql.table.name, key: mutation.key, server: server.values.mapValues(SQLValue.init),
            device: server.values.merging(mutation.row.values) { $1 }.mapValues(SQLValue.init),
            changed: try changed(by: mutation, db))
        let values: [String: SyncValue]
        do {
            values = try resolve(conflict).mapValues(SyncValue.init)
        } catch let refusal as SyncRefusal {
            throw WireFailure(.stale, String(refusal.message.prefix(1_000)))
        } catch {
            // Its text is nothing for devices.
            throw WireFailure(.stale, "The server's rule for such changes refuses this one.")
        }
        if let unknown = values.keys.first(where: { server[$0] == nil || $0 == "id" }) {
            throw WireFailure(.stale, "The server's rule for such changes answers with a column '\(unknown)'.")
        }
        // Where nothing changes, no device would hear of it by its position: the one that sent it hears it now.
        guard values.contains(where: { server[$0.key] != $0.value }) else { return .refused }
        return .stored(SyncRow(values))
    }

    private func row(_ key: String, version: Int, _ db: any SQLConnection) throws -> SyncRow {
        var found = SyncRow()
        try db.query("SELECT \(sql.json(version: version, of: "t")) FROM \(sql.name) t WHERE t.id = ?1", [.text(key)]) {
            found =
                try $0.withBytes(0) { bytes in
                    var scanner = JSONScanner(bytes)
                    return try SyncRow(&scanner)
                } ?? found
            return false
        }
        return found
    }
}

extension SyncValue {
    fileprivate init(_ value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let text): self = .text(text)
        case .blob(let blob): self = .blob(blob)
        }
    }
}
