import LFSWire

/// A check for changes of rows that have changed since the device received them.
///
/// A device sends the base version of a change: the position that the row's type had reached in a scope with the row,
/// and the device's own previous change of the row. The row is unchanged if its position in that scope is not beyond
/// the base version. It is also unchanged if it still is at the position of that previous change.
struct ConflictCheck: Sendable {
    let sql: TableSQL
    /// The version of the mutation's type.
    let version: Int
    let policy: SyncConflictPolicy

    enum Outcome {
        /// The change is stored as it was sent.
        case asSent
        /// The values that are stored instead.
        case stored(SyncRow)
        case refused
    }

    /// Decides how to handle a mutation.
    ///
    /// - Parameter scope: the scope of the row, which the session may change.
    /// - Throws: ``WireFailure`` of the host's own rule.
    func outcome(
        of mutation: SyncMutation, in scope: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> Outcome {
        // Devices that send no base version are trusted.
        guard let seen = mutation.seen, policy.isCareful else { return .asSent }
        // Another account with access to a shared scope may write the row at this moment.
        try PostgresOrder.hold(scope, db)
        guard try !isFresh(mutation.key, seen: seen, session: session, db) else { return .asSent }
        let isDeletion = mutation.operation == .delete
        // A change without effect, for example after a lost reply, does not conflict with anything.
        if !isDeletion, try changed(by: mutation, db).isEmpty { return .asSent }
        guard case .resolve(let resolve) = policy else { return .refused }
        return isDeletion ? .asSent : try resolved(mutation, resolve, db)
    }

    private func isFresh(
        _ key: String, seen: BaseVersion, session: SyncSession, _ db: any SQLConnection
    ) throws -> Bool {
        if let after = seen.after, let position = try MutationTable.position(of: after, session, db),
            try sql.position(of: key, for: session, db) == position
        {
            return true
        }
        let now = try sql.position(of: key, in: seen.scope ?? session.own, for: session, db)
        return now.map { $0 <= seen.position } ?? false
    }

    /// Returns the columns that the mutation would change.
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
            throw WireFailure(.stale, message: String(refusal.message.prefix(1_000)))
        } catch {
            // The text of this error is not meant for devices.
            throw WireFailure(.stale, message: "The server's rule for such changes refuses this one.")
        }
        if let unknown = values.keys.first(where: { server[$0] == nil || $0 == "id" }) {
            throw WireFailure(
                .stale,
                message: "The server's rule for such changes returned an unknown column '\(unknown)'.")
        }
        // A row without a change gets no new position, so no stream would bring it. The refusal gives it to the device
        // now.
        guard values.contains(where: { server[$0.key] != $0.value }) else { return .refused }
        return .stored(SyncRow(values))
    }

    private func row(_ key: String, version: Int, _ db: any SQLConnection) throws -> SyncRow {
        var found = SyncRow()
        try db.query(
            "SELECT \(sql.json(version: version, of: "t")) FROM \(sql.name) t WHERE t.id = ?1", arguments: [.text(key)]
        ) {
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
