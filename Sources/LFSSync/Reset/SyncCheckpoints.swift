import GRDB
import LFSSystem
import LFSWire

/// `lfs_sync_checkpoint` and the batch of acks that is on its way.
enum SyncCheckpoints {
    /// How far a type has come in a scope.
    static func note(_ token: SyncToken, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_checkpoint (type, scope, token) VALUES (?, ?, ?)
                ON CONFLICT (type, scope) DO UPDATE SET token = excluded.token, isAcknowledged = 0
                WHERE token <> excluded.token
                """
        ).execute(arguments: [token.place.type.description, token.place.scope.description, token.description])
    }

    /// Whose rows these are.
    static func note(_ own: SyncScope?, _ db: Database) throws {
        guard let own else { return }
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET account = ? WHERE account IS NULL").execute(arguments: [
            own.description
        ])
    }

    /// What a stream knows of the others on this database, in this process or another one.
    struct Turn: Sendable {
        fileprivate var count: Int64
        fileprivate var isTaken = false
    }

    /// A stream that begins now.
    static func turn(_ db: Database) throws -> Turn {
        Turn(count: try Int64.fetchOne(db.cachedStatement(sql: "SELECT stream FROM lfs_sync_state")) ?? 0)
    }

    /// The stream brings something. What another one has brought since it began may be newer.
    ///
    /// - Throws: ``SyncError/Code/cut`` when there is another one.
    static func take(_ turn: inout Turn, _ db: Database) throws {
        guard try Self.turn(db).count == turn.count else {
            throw SyncError(
                .cut, "Another sync of this database has begun meanwhile. What had come is kept; try again.")
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

    /// Whether a position of the account's own rows of a table has come already.
    static func isPast(
        _ position: SyncPosition, of table: String, _ tables: [SyncedTable], _ db: Database
    ) throws -> Bool {
        guard let own = try ownScope(db), let type = tables.first(where: { $0.name == table })?.type else {
            return false
        }
        let sql = "SELECT token FROM lfs_sync_checkpoint WHERE type = ? AND scope = ?"
        let token = try String.fetchOne(
            db.cachedStatement(sql: sql), arguments: [type.description, own.description])
        return token.flatMap { SyncToken($0) }.map { position <= $0.position } ?? false
    }

    /// A query for how far a type has ever come in a scope, as a token; `c` has the scope.
    ///
    /// - Parameters:
    ///   - scope: a query for the scope; that of the account's own rows where it finds none.
    ///   - condition: for anything to be found.
    static func token(of type: SyncType, in scope: String, where condition: String) -> String {
        // Tokens of one type and scope are in the order of their positions, but for one at the start, which is last.
        """
        SELECT c.token FROM (SELECT * FROM lfs_sync_seen UNION ALL
                SELECT type, scope, token FROM lfs_sync_checkpoint) c
            WHERE c.type = '\(type)' AND c.scope = coalesce((\(scope)), (SELECT account FROM lfs_sync_state))
                AND \(condition)
            ORDER BY c.token LIKE '%||%', c.token DESC LIMIT 1
        """
    }

    /// Remembers how far this device is, for the time when it comes whole again.
    private static func remember(_ condition: String, _ arguments: StatementArguments, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO lfs_sync_seen (type, scope, token)
                SELECT type, scope, token FROM lfs_sync_checkpoint
                WHERE (\(condition)) AND token NOT LIKE '%||%'
                ON CONFLICT (type, scope) DO UPDATE SET token = max(token, excluded.token)
                """
        ).execute(arguments: arguments)
    }

    /// The scope of the account's own rows; nil before a first stream has named it.
    static func ownScope(_ db: Database) throws -> SyncScope? {
        try String.fetchOne(db.cachedStatement(sql: "SELECT account FROM lfs_sync_state")).flatMap { SyncScope($0) }
    }

    /// Forgets all of them and says so with the next batch. What was sent and not answered is open again.
    ///
    /// - Parameter keepsAll: whether the server is older than this device, so that nothing here goes for it.
    static func restart(_ token: SyncToken, keepsAll: Bool, _ db: Database) throws {
        if keepsAll {
            // What the server has now may be other changes at the same positions.
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_seen").execute()
        } else {
            try remember("true", [], db)
            if let own = try ownScope(db) { try Outbox.seeApplied(of: own, db) }
        }
        try db.cachedStatement(sql: "DELETE FROM lfs_sync_checkpoint").execute()
        let begun = "UPDATE lfs_sync_state SET ackBatch = NULL, isToReset = 0, keepsAll = max(keepsAll, ?)"
        try db.cachedStatement(sql: begun).execute(arguments: [keepsAll])
        try PassTable.removeAll(db)
        try Outbox.thaw(db)
        try note(token, db)
    }

    /// Whether everything has to come once more.
    static func isToReset(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: "SELECT isToReset FROM lfs_sync_state")) ?? false
    }

    /// Forgets those of some types and scopes, which come whole again.
    static func forget(_ types: [SyncType]?, _ scopes: [SyncScope]?, _ db: Database) throws {
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT type, scope FROM lfs_sync_checkpoint")) {
            let (type, scope): (String, String) = (row[0], row[1])
            guard types?.contains(where: { $0.description == type }) ?? true,
                scopes?.contains(where: { $0.description == scope }) ?? true
            else { continue }
            try remember("type = ? AND scope = ?", [type, scope], db)
            try db.cachedStatement(sql: "DELETE FROM lfs_sync_checkpoint WHERE type = ? AND scope = ?").execute(
                arguments: [type, scope])
        }
    }

    /// A scope is left: only that has to be said of it.
    static func leave(_ token: SyncToken, _ db: Database) throws {
        for table in ["lfs_sync_checkpoint", "lfs_sync_seen"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE scope = ?").execute(arguments: [
                token.place.scope.description
            ])
        }
        try note(token, db)
    }

    /// The batch that has to be sent: the one on its way, or else what is not acknowledged yet.
    static func batch(_ db: Database) throws -> SyncAckBatch? {
        let state = try Row.fetchOne(db.cachedStatement(sql: "SELECT batch, ackBatch, account FROM lfs_sync_state"))
        guard let state else { return nil }
        let own = (state["account"] as String?).flatMap { SyncScope($0) }
        let number: Int64 = state["batch"]
        if let kept: String = state["ackBatch"] {
            let lines = kept.split(separator: "\n").map(String.init)
            let tokens = lines.dropFirst().compactMap { SyncToken($0) }
            return SyncAckBatch(number: number, id: lines.first ?? "", tokens: tokens, account: own)
        }
        let texts = try String.fetchAll(
            db.cachedStatement(
                sql: "SELECT token FROM lfs_sync_checkpoint WHERE isAcknowledged = 0 LIMIT \(SyncAckBatch.limit)"))
        guard !texts.isEmpty else { return nil }
        let id = FileID.make().text
        try db.cachedStatement(sql: "UPDATE lfs_sync_state SET batch = batch + 1, ackBatch = ?").execute(arguments: [
            ([id] + texts).joined(separator: "\n")
        ])
        return SyncAckBatch(
            number: number + 1, id: id, tokens: texts.compactMap { SyncToken($0) }, account: own)
    }

    /// The last batch that the server has, which goes with each stream: an older copy of either database shows by it.
    static func last(_ db: Database) throws -> SyncAckBatch {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT batch, lastAckBatch FROM lfs_sync_state WHERE ackBatch IS NULL"))
        guard let row, let id: String = row[1] else { return SyncAckBatch(number: 0, id: "none", tokens: []) }
        return SyncAckBatch(number: row[0], id: id, tokens: [])
    }

    /// The server has a batch.
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
