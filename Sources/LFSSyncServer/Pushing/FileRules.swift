import LFSWire

/// What may become of the row of a file. Its content never changes. Where its bytes are only the session says whose
/// database made it, and only once: from `local` to `remote`.
struct FileRules: Sendable {
    /// Mutations that say of a file that is not in the store that it is.
    let withoutObject: Set<Int64>
    /// When the object of a file that is deleted goes, in milliseconds since 1970; nil where the server removes none.
    var removesAt: Int64?

    private static let table = TableSQL.quoted(SyncType.fileTable)
    private static let content = ["byteCount", "sha256", "key", "createdAt"]
    private static let place = ["status", "url", "deviceID"]

    /// - Throws: ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``.
    func requireNew(_ mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection) throws {
        guard let key = mutation.row.text("key"), let namespace = NamespaceTable.namespace(of: key) else {
            throw WireFailure(.invalidRequest, "A file's 'key' has to be a namespace, a slash, and a name.")
        }
        guard let status = mutation.row.text("status"), ["local", "remote"].contains(status) else {
            throw WireFailure(.invalidRequest, "A file's 'status' has to be 'local' or 'remote'.")
        }
        guard try NamespaceTable.claim(namespace, for: session, isMaker: status == "local", db) else {
            throw WireFailure(.forbidden, "The file's 'key' begins with the namespace of another account.")
        }
        if status == "remote" { try requireObject(mutation) }
        guard try RemovalTable.keep(key, db) else {
            throw WireFailure(
                .missing, "A file with this 'key' was deleted, and its object is going: make another file.")
        }
    }

    /// Before the row of a file goes, in the same transaction.
    func noteRemoval(of id: String, _ db: any SQLConnection) throws {
        guard let removesAt, let object = try FileKeys.owner(ofFile: id, db) else { return }
        try RemovalTable.note(object.key, of: object.account, notBefore: removesAt, db)
    }

    /// - Throws: ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``.
    func requireChange(_ mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection) throws {
        var changed: Set<String> = []
        for (column, new) in mutation.row.values where (Self.content + Self.place).contains(column) {
            // A value of another type is not the same, and is refused as such.
            let same = new == .null ? "IS NULL AND ?2 = 1" : "= ?2"
            let sql = "SELECT 'same' FROM \(Self.table) WHERE id = ?1 AND \(TableSQL.quoted(column)) \(same)"
            let found = try db.firstText(sql, [.text(mutation.key), new == .null ? .integer(1) : SQLValue(new)])
            if found == nil { changed.insert(column) }
        }
        if let column = Self.content.first(where: changed.contains) {
            throw WireFailure(.forbidden, "'\(column)' of a file never changes: make another file.")
        }
        guard !changed.isEmpty else { return }
        guard let key = try db.firstText("SELECT key FROM \(Self.table) WHERE id = ?1", [.text(mutation.key)]),
            let namespace = NamespaceTable.namespace(of: key), try NamespaceTable.isHeld(namespace, by: session, db)
        else { throw WireFailure(.forbidden, "Only the device that made a file says where its bytes are.") }
        guard changed.contains("status"), mutation.row.text("status") == "remote" else {
            throw WireFailure(
                .forbidden, "A file's status only goes from 'local' to 'remote', and its URL comes with it.")
        }
        try requireObject(mutation)
    }

    private func requireObject(_ mutation: SyncMutation) throws(WireFailure) {
        guard !withoutObject.contains(mutation.sequence) else {
            throw WireFailure(.missing, "The store has no such object: upload it, and say so then.")
        }
    }
}

/// Asks the storage for the files of which mutations say that they are there, before their transaction begins: no
/// transaction waits for a store.
struct FileObjects: Sendable {
    private static let table = TableSQL.quoted(SyncType.fileTable)
    let exists: @Sendable (SyncFile) async throws -> Bool

    /// - Returns: the numbers of the mutations whose objects are not there.
    /// - Throws: ``WireFailure/Code/unavailable`` when the storage does not answer.
    func missing(
        in mutations: [SyncMutation], of session: SyncSession, _ database: any SQLDatabase
    ) async throws -> Set<Int64> {
        let stated = mutations.filter {
            $0.type.name == "File" && $0.sequence > session.lastSequence && $0.row.text("status") == "remote"
        }
        guard !stated.isEmpty else { return [] }
        let files = try await database.read { db in
            try stated.compactMap { mutation in try Self.file(mutation, mutations, db).map { (mutation.sequence, $0) } }
        }
        return try await withThrowingTaskGroup(of: (Int64, Bool).self) { group in
            var waiting = files.makeIterator()
            var missing: Set<Int64> = []
            func begin() {
                guard let (sequence, file) = waiting.next() else { return }
                group.addTask { (sequence, try await exists(file)) }
            }
            for _ in 0..<8 { begin() }
            do {
                while let (sequence, isThere) = try await group.next() {
                    if !isThere { missing.insert(sequence) }
                    begin()
                }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                throw WireFailure(.unavailable, "The storage does not say what it has.", retryAfter: 30)
            }
            return missing
        }
    }

    /// The file as the mutation, one before it, or the database has it. What is already in the store is not asked for.
    private static func file(
        _ mutation: SyncMutation, _ all: [SyncMutation], _ db: any SQLConnection
    ) throws -> SyncFile? {
        let made = all.first { $0.key == mutation.key && $0.operation == .put && $0.row.text("key") != nil }
        let url = mutation.row.text("url")
        if let row = made?.row, let key = row.text("key"), let sha256 = row.text("sha256"),
            case .integer(let count)? = row["byteCount"]
        {
            return SyncFile(key: key, byteCount: count, sha256: sha256, url: url)
        }
        var found: SyncFile?
        let sql = "SELECT key, \"byteCount\", sha256 FROM \(Self.table) WHERE id = ?1 AND status <> 'remote'"
        try db.query(sql, [.text(mutation.key)]) { row in
            if let key = try row.text(0), let count = try row.integer(1), let sha256 = try row.text(2) {
                found = SyncFile(key: key, byteCount: count, sha256: sha256, url: url)
            }
            return false
        }
        return found
    }
}
