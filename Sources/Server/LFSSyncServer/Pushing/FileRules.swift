import LFSWire

/// The rules for changes to the row of a file. Its content never changes. Only the session whose database created the
/// file may report where its bytes are, and only once: from `local` to `remote`.
struct FileRules: Sendable {
    /// The numbers of mutations that report a file as uploaded although the storage does not have it.
    let withoutObject: Set<Int64>
    /// The time from which the object of a file deleted now is removed, in milliseconds since 1970. Nil if the server
    /// removes no objects.
    var removesAt: Int64?
    /// The check against the limits of the account.
    let check: QuotaCheck

    /// The maximum number of bytes of a file's key, as of every key that a storage accepts.
    private static let keyLimit = 512

    private static let table = TableSQL.quoted(SyncType.fileTable)
    private static let content = ["byteCount", "sha256", "key", "createdAt"]
    private static let place = ["status", "url", "deviceID"]

    /// Checks the row of a new file. Columns convert values of another kind, which the checks of the object and of the
    /// quota would miss.
    ///
    /// - Throws: ``WireFailure/Code/invalidRequest``, ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``,
    ///   ``WireFailure/Code/quotaExceeded``.
    func requireNew(_ mutation: SyncMutation, session: SyncSession, _ db: any SQLConnection) throws {
        guard let key = mutation.row.text("key"), let namespace = Self.namespace(ofNew: key) else {
            throw WireFailure(
                .invalidRequest,
                message: "A file's 'key' has to be a namespace, a slash, and a name, with at most 512 bytes.")
        }
        guard let status = mutation.row.text("status"), ["local", "remote"].contains(status) else {
            throw WireFailure(.invalidRequest, message: "A file's 'status' has to be 'local' or 'remote'.")
        }
        guard case .integer? = mutation.row["byteCount"] else {
            throw WireFailure(.invalidRequest, message: "A file's 'byteCount' has to be a whole number.")
        }
        guard mutation.row.text("sha256") != nil else {
            throw WireFailure(.invalidRequest, message: "A file's 'sha256' has to be a text.")
        }
        // The row cancels the pending removal of its object, which would otherwise be removed.
        if !check.mayAddFiles, try !RemovalTable.hasAny(of: [key], db) { try check.requireFewRemovals() }
        let isMaker = status == "local"
        guard try NamespaceTable.claim(namespace, for: session, isMaker: isMaker, limit: check.namespaceLimit, db)
        else {
            throw WireFailure(.forbidden, message: "The file's 'key' begins with the namespace of another account.")
        }
        if status == "remote" { try requireObject(mutation) }
        guard try RemovalTable.keep(key, db) else {
            throw WireFailure(
                .missing,
                message: "A file with this 'key' was deleted, and its object is being deleted. Create another file.")
        }
    }

    /// Returns the namespace of a new file's key, or nil for an invalid key.
    static func namespace(ofNew key: String) -> String? {
        key.utf8.count <= keyLimit ? NamespaceTable.namespace(of: key) : nil
    }

    /// Schedules the removal of a file's object. Must run in the same transaction, before the row is deleted.
    func noteRemoval(of id: String, _ db: any SQLConnection) throws {
        guard let removesAt, let object = try FileKeys.owner(ofFile: id, db) else { return }
        try RemovalTable.note(object.key, of: object.account, notBefore: removesAt, db)
    }

    /// Checks a change to the row of a file.
    ///
    /// - Throws: ``WireFailure/Code/forbidden``, ``WireFailure/Code/missing``.
    func requireChange(_ mutation: SyncMutation, session: SyncSession, _ db: any SQLConnection) throws {
        var changed: Set<String> = []
        for (column, new) in mutation.row.values where (Self.content + Self.place).contains(column) {
            // A value of another type is different, and is refused for that reason.
            let same = new == .null ? "IS NULL AND ?2 = 1" : "= ?2"
            let sql = "SELECT 'same' FROM \(Self.table) WHERE id = ?1 AND \(TableSQL.quoted(column)) \(same)"
            let found = try db.firstText(
                sql, arguments: [.text(mutation.key), new == .null ? .integer(1) : SQLValue(new)])
            if found == nil { changed.insert(column) }
        }
        if let column = Self.content.first(where: changed.contains) {
            throw WireFailure(.forbidden, message: "'\(column)' of a file never changes. Create another file.")
        }
        guard !changed.isEmpty else { return }
        guard
            let key = try db.firstText("SELECT key FROM \(Self.table) WHERE id = ?1", arguments: [.text(mutation.key)]),
            let namespace = NamespaceTable.namespace(of: key), try NamespaceTable.isHeld(namespace, by: session, db)
        else {
            throw WireFailure(
                .forbidden, message: "Only the device that created a file may set its status and URL.")
        }
        guard changed.contains("status"), mutation.row.text("status") == "remote" else {
            throw WireFailure(
                .forbidden, message: "A file's status may only change from 'local' to 'remote', together with its URL.")
        }
        try requireObject(mutation)
    }

    private func requireObject(_ mutation: SyncMutation) throws(WireFailure) {
        guard !withoutObject.contains(mutation.sequence) else {
            throw WireFailure(
                .missing,
                message: "The store has no such object. Upload it before the status becomes 'remote'.")
        }
    }
}

/// A check that the storage has the files that mutations report as uploaded. It runs before their transaction, so that
/// no transaction waits for a storage.
struct FileObjects: Sendable {
    private static let table = TableSQL.quoted(SyncType.fileTable)
    let exists: @Sendable (SyncFile) async throws -> Bool

    /// Finds mutations with missing objects.
    ///
    /// - Returns: the numbers of the mutations whose objects do not exist.
    /// - Throws: ``WireFailure/Code/unavailable`` if the storage does not answer.
    func missing(
        in mutations: [SyncMutation], of session: SyncSession, _ database: any SQLDatabase
    ) async throws -> Set<Int64> {
        let stated = mutations.filter {
            $0.type.name == "File" && $0.sequence > session.lastSequence && $0.row.text("status") == "remote"
        }
        guard !stated.isEmpty else { return [] }
        let files = try await database.read { db in
            try stated.flatMap { mutation in
                try Self.files(of: mutation, all: mutations, db).map { (mutation.sequence, $0) }
            }
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
                throw WireFailure(.unavailable, message: "The storage does not report its objects.", retryAfter: 30)
            }
            return missing
        }
    }

    /// Returns the files that a mutation may report as uploaded. All of them have to be in the storage.
    ///
    /// The database describes the file, or the mutation that creates it. Several mutations may try to, and any of them
    /// may be refused. Empty if the file is already known to be in the storage.
    private static func files(
        of mutation: SyncMutation, all: [SyncMutation], _ db: any SQLConnection
    ) throws -> [SyncFile] {
        let url = mutation.row.text("url")
        let earlier = all.filter {
            $0.type.name == mutation.type.name && $0.key == mutation.key && $0.sequence <= mutation.sequence
        }
        var isStored = false
        var files: [SyncFile] = []
        let sql = "SELECT key, \"byteCount\", sha256, status FROM \(Self.table) WHERE id = ?1"
        try db.query(sql, arguments: [.text(mutation.key)]) { row in
            isStored = true
            if let key = try row.text(0), let count = try row.integer(1), let sha256 = try row.text(2),
                try row.text(3) != "remote"
            {
                files.append(SyncFile(key: key, byteCount: count, sha256: sha256, url: url))
            }
            return false
        }
        // The content of a stored file never changes. After its deletion, another one may have its id.
        if isStored, !earlier.contains(where: { $0.operation == .delete }) { return files }
        for row in earlier.filter({ $0.operation == .put }).map(\.row) {
            guard let key = row.text("key"), let sha256 = row.text("sha256"),
                case .integer(let count)? = row["byteCount"]
            else { continue }
            files.append(SyncFile(key: key, byteCount: count, sha256: sha256, url: url))
        }
        return files
    }
}
