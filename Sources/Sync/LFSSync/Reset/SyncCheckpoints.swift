import GRDB
import LFSSystem
import LFSWire

/// The table `lfs_sync_checkpoint` and the batch of acks that is being sent.
enum SyncCheckpoints {
    /// Stores the token that a type has reached in a scope.
    static func note(_ token: SyncToken, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_checkpoint (type, scope, token) VALUES (?, ?, ?)
                ON CONFLICT (type, scope) DO UPDATE SET token = excluded.token, isAcknowledged = 0
                WHERE token <> excluded.token
                """
        ).execute(arguments: [token.place.type.description, token.place.scope.description, token.description])
    }

    /// Stores the account that owns the rows, if none is stored yet.
    static func note(_ own: SyncScope?, _ db: Database) throws {
        guard let own else { return }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET account = ? WHERE account IS NULL").execute(arguments: [
            own.description
        ])
    }

    /// Stores the identity of the server's history, from which all available changes have arrived.
    ///
    /// - Parameter history: the identity, or nil from an older server.
    static func note(history: String?, _ db: Database) throws {
        guard let history else { return }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET history = ?1 WHERE history IS NOT ?1").execute(
            arguments: [history])
    }

    /// A stream's knowledge of other streams on this database, in this process or another one.
    struct Turn: Sendable {
        fileprivate var count: Int64
        fileprivate var isTaken = false
    }

    /// Returns the state for a stream that starts now.
    static func turn(_ db: Database) throws -> Turn {
        Turn(count: try Int64.fetchOne(db.cachedStatement(sql: "SELECT stream FROM lfs_sync_state")) ?? 0)
    }

    /// Claims the database for a stream that brings changes. Another stream may have brought newer changes since this
    /// one started.
    ///
    /// - Throws: ``SyncError/Code/cut`` if there is another one.
    static func take(_ turn: inout Turn, _ db: Database) throws {
        guard try Self.turn(db).count == turn.count else {
            throw SyncError(
                .cut,
                message: "Another sync of this database has started since. The received rows are kept. Try again.")
        }
        guard !turn.isTaken else { return }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET stream = stream + 1").execute()
        turn = Turn(count: turn.count + 1, isTaken: true)
    }

    static func contains(_ place: SyncToken.Place, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM lfs_sync_checkpoint WHERE type = ? AND scope = ?)"
        return try Bool.fetchOne(
            db.cachedStatement(sql: sql), arguments: [place.type.description, place.scope.description]) == true
    }

    /// Returns true if the account's own rows of a table have already arrived up to a position.
    static func isPast(
        _ position: SyncPosition, of table: String, tables: [SyncedTable], _ db: Database
    ) throws -> Bool {
        guard let own = try ownScope(db), let types = tables.first(where: { $0.name == table })?.types else {
            return false
        }
        let sql = "SELECT token FROM lfs_sync_checkpoint WHERE type = ? AND scope = ?"
        return try types.contains { type in
            let token = try String.fetchOne(
                db.cachedStatement(sql: sql), arguments: [type.description, own.description])
            return token.flatMap { SyncToken($0) }.map { position <= $0.position } ?? false
        }
    }

    /// Returns a query for the latest token that a type has ever reached in a scope. The alias `c` has the scope.
    ///
    /// - Parameters:
    ///   - types: the versions of the type. The positions of a scope are the same for all of them.
    ///   - scope: a query for the scope. If it finds no scope, that of the account's own rows is used.
    ///   - condition: an SQL condition that must hold for a token to be found.
    static func token(of types: [SyncType], in scope: String, where condition: String) -> String {
        let names = types.map { "'\($0)'" }.joined(separator: ", ")
        // After the type, the text order of tokens of one scope is the order of their positions. The exception is a
        // token at the start, which sorts last.
        return """
            SELECT c.token FROM (SELECT * FROM lfs_sync_seen UNION ALL
                    SELECT type, scope, token FROM lfs_sync_checkpoint) c
                WHERE c.type IN (\(names)) AND c.scope = coalesce((\(scope)), (SELECT account FROM lfs_sync_state))
                    AND \(condition)
                ORDER BY c.token LIKE '%||%', substr(c.token, length(c.type) + 1) DESC LIMIT 1
            """
    }

    /// Keeps the reached tokens as base versions for the time after a full resync.
    private static func remember(_ condition: String, arguments: StatementArguments, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_seen (type, scope, token)
                SELECT type, scope, token FROM lfs_sync_checkpoint
                WHERE (\(condition)) AND token NOT LIKE '%||%'
                ON CONFLICT (type, scope) DO UPDATE SET token = max(token, excluded.token)
                """
        ).execute(arguments: arguments)
    }

    /// Returns the scope of the account's own rows, or nil before a first stream has named it.
    static func ownScope(_ db: Database) throws -> SyncScope? {
        try String.fetchOne(db.cachedStatement(sql: "SELECT account FROM lfs_sync_state")).flatMap { SyncScope($0) }
    }

    /// Removes all checkpoints, and acknowledges the reset with the next batch. Changes without an answer become open
    /// again.
    ///
    /// - Parameter keepsAll: true if the server is older than this device, so that no local row is deleted.
    static func restart(_ token: SyncToken, keepsAll: Bool, _ db: Database) throws {
        if keepsAll {
            // The server may now have other changes at the same positions.
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_seen").execute()
        } else {
            try remember("true", arguments: [], db)
            if let own = try ownScope(db) { try Outbox.seeApplied(of: own, db) }
        }
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_checkpoint").execute()
        let begun = """
            UPDATE lfs_sync_state SET ackBatch = NULL, isToReset = 0, keepsAll = max(keepsAll, ?1),
                history = CASE WHEN ?1 THEN NULL ELSE history END
            """
        try db.cachedStatement(sql: begun).execute(arguments: [keepsAll])
        try FullResyncTable.removeAll(db)
        try Outbox.thaw(db)
        try note(token, db)
    }

    /// Returns true if the current full resyncs delete no rows.
    static func keepsAll(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT keepsAll FROM lfs_sync_state")) ?? false
    }

    /// Lets later full resyncs delete rows again, once all current ones have been processed.
    static func endKeeping(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE lfs_sync_state SET keepsAll = 0
                WHERE keepsAll = 1 AND NOT EXISTS (SELECT 1 FROM lfs_sync_pass)
                """
        ).execute()
    }

    /// Returns true if the next sync must be a full resync.
    static func isToReset(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT isToReset FROM lfs_sync_state")) ?? false
    }

    /// Removes the checkpoints of some types and scopes, which then start a full resync.
    static func forget(_ types: [SyncType]?, scopes: [SyncScope]?, _ db: Database) throws {
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT type, scope FROM lfs_sync_checkpoint")) {
            let (type, scope): (String, String) = (row[0], row[1])
            guard types?.contains(where: { $0.description == type }) ?? true,
                scopes?.contains(where: { $0.description == scope }) ?? true
            else { continue }
            try remember("type = ? AND scope = ?", arguments: [type, scope], db)
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_checkpoint WHERE type = ? AND scope = ?").execute(
                arguments: [type, scope])
        }
    }

    /// Removes the checkpoints of a scope that the device has left. Only the departure is acknowledged.
    static func leave(_ token: SyncToken, _ db: Database) throws {
        for table in ["lfs_sync_checkpoint", "lfs_sync_seen"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE scope = ?").execute(arguments: [
                token.place.scope.description
            ])
        }
        try note(token, db)
    }

    /// Returns the batch to send: the one that is being sent, or a new one with tokens that are not acknowledged yet.
    static func batch(_ db: Database) throws -> SyncAckBatch? {
        let state = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT batch, ackBatch, lastAckBatch, account, history FROM lfs_sync_state"))
        guard let state else { return nil }
        let own = (state["account"] as String?).flatMap { SyncScope($0) }
        let number: Int64 = state["batch"]
        let after: String? = state["lastAckBatch"]
        func batch(_ number: Int64, id: String, tokens: [SyncToken]) throws -> SyncAckBatch {
            SyncAckBatch(
                number: number, id: id, tokens: tokens, after: after, account: own, history: history(state),
                reached: try reached(db))
        }
        if let kept: String = state["ackBatch"] {
            let lines = kept.split(separator: "\n").map(String.init)
            return try batch(number, id: lines.first ?? "", tokens: lines.dropFirst().compactMap { SyncToken($0) })
        }
        let tokens = try open(db)
        guard !tokens.isEmpty else { return nil }
        let id = FileID.make().text
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET batch = batch + 1, ackBatch = ?").execute(arguments: [
            ([id] + tokens.map(\.description)).joined(separator: "\n")
        ])
        return try batch(number + 1, id: id, tokens: tokens)
    }

    /// Returns the last position of the account's own rows, or nil before the first one.
    private static func reached(_ db: Database) throws -> SyncPosition? {
        let sql = "SELECT token FROM lfs_sync_checkpoint WHERE scope = (SELECT account FROM lfs_sync_state)"
        let positions = try String.fetchAll(db.cachedStatement(sql: sql)).compactMap { SyncToken($0)?.position }
        return positions.max { $0.text < $1.text }
    }

    /// Returns the stored identity of the server's history, or nil for one that no server accepts.
    private static func history(_ state: Row) -> String? {
        (state["history"] as String?).flatMap { SyncAckBatch.isID($0) ? $0 : nil }
    }

    /// Returns the first tokens that are not acknowledged yet.
    ///
    /// A token that another program has damaged cannot be reported to the server, and would be sent again forever. It
    /// no longer counts as open. The next position of its place replaces it.
    private static func open(_ db: Database) throws -> [SyncToken] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT rowid, type, scope, token FROM lfs_sync_checkpoint WHERE isAcknowledged = 0
                    LIMIT \(SyncAckBatch.limit)
                    """))
        var tokens: [SyncToken] = []
        for row in rows {
            if let token = SyncToken(row[3] as String), token.place.type.description == row[1],
                token.place.scope.description == row[2]
            {
                tokens.append(token)
            } else {
                try db.cachedStatement(sql: "UPDATE lfs_sync_checkpoint SET isAcknowledged = 1 WHERE rowid = ?")
                    .execute(arguments: [row[0] as Int64])
            }
        }
        return tokens.isEmpty && !rows.isEmpty ? try open(db) : tokens
    }

    /// Returns the last batch that the server has. Each stream request contains it, which reveals an older copy of
    /// either database.
    static func last(_ db: Database) throws -> SyncAckBatch {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT batch, lastAckBatch, history FROM lfs_sync_state WHERE ackBatch IS NULL"))
        guard let row, let id: String = row[1] else { return SyncAckBatch(number: 0, id: "none", tokens: []) }
        return SyncAckBatch(number: row[0], id: id, tokens: [], history: history(row), reached: try reached(db))
    }

    /// Records that the server has received a batch.
    static func acknowledged(_ batch: SyncAckBatch, _ db: Database) throws {
        let sql = "UPDATE lfs_sync_checkpoint SET isAcknowledged = 1 WHERE type = ? AND scope = ? AND token = ?"
        for token in batch.tokens {
            let place = token.place
            if place.type.description == SyncLine.Name.reset || place.type.description == SyncLine.Name.scopeDeleted {
                try db.cachedStatement(
                    sql: "DELETE FROM lfs_sync_checkpoint WHERE type = ? AND scope = ? AND token = ?"
                ).execute(arguments: [place.type.description, place.scope.description, token.description])
            } else {
                try db.cachedStatement(sql: sql).execute(
                    arguments: [place.type.description, place.scope.description, token.description])
            }
        }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET ackBatch = NULL, lastAckBatch = ? WHERE batch = ?")
            .execute(arguments: [batch.id, batch.number])
    }
}
