import LFSWire

/// New rows of a push, collected to be inserted with one statement for each type.
///
/// The rows belong to the account's own scope. A row that needs another check, or one that could be refused, is not
/// collected. The database refuses a row whose key exists.
struct NewRows: Sendable {
    private struct Group: Sendable {
        let writer: RowWriter
        var indexes: [Int] = []
        var keys: [String] = []
        var columns: [SQLColumn]
    }

    private struct Row: Hashable {
        let table: String
        let key: String
    }

    private let session: SyncSession
    /// The head of the account's scope before the push.
    private let head: String
    private var groups: [SyncType: Group] = [:]
    private var rows: Set<Row> = []
    /// The rows that others refer to and that have to be in the database.
    private var parents: [String: Set<String>] = [:]
    /// The files' keys and statuses, in the order of their mutations.
    private var files: [(key: String, isLocal: Bool)] = []
    /// The rules for those files. Nil without files.
    private var fileRules: FileRules?

    init(of held: HeldSession) {
        session = held.session
        head = held.head
    }

    var count: Int { rows.count }

    /// Collects a mutation.
    ///
    /// - Parameters:
    ///   - index: the index of the mutation's result.
    ///   - writer: the writer of the mutation's type.
    /// - Returns: false if the mutation has to be applied alone.
    mutating func add(_ mutation: SyncMutation, at index: Int, writer: RowWriter) -> Bool {
        guard mutation.operation == .put, writer.rights.isOwnersAlone, writer.fits(mutation),
            !rows.contains(Row(table: writer.sql.table.name, key: mutation.key)),
            writer.files?.isPlain(mutation) ?? true
        else { return false }
        for column in writer.columns {
            guard let parent = column.parent, let key = mutation.row.text(column.name) else { continue }
            if rows.contains(Row(table: parent.table, key: key)) { continue }
            if parent.table == writer.sql.table.name, key == mutation.key { continue }
            parents[parent.table, default: []].insert(key)
        }
        if let rules = writer.files, let key = mutation.row.text("key") {
            fileRules = rules
            files.append((key, mutation.row.text("status") == "local"))
        }
        rows.insert(Row(table: writer.sql.table.name, key: mutation.key))
        var group =
            groups.removeValue(forKey: mutation.type)
            ?? Group(
                writer: writer, columns: writer.columns.map { SQLColumn(.init($0.kind)) })
        group.indexes.append(index)
        group.keys.append(mutation.key)
        for (place, column) in writer.columns.enumerated() {
            group.columns[place].values.append(
                mutation.row[column.name].map(SQLValue.init) ?? column.defaultValue ?? .null)
        }
        groups[mutation.type] = group
        return true
    }

    /// Inserts the rows and forgets them.
    ///
    /// - Parameters:
    ///   - schema: the tables, parents first.
    ///   - outcomes: receives the outcome of each mutation at its index.
    /// - Throws: ``NotPlain`` if a row may have to be refused, and `SQLFailure`.
    mutating func insert(
        schema: CheckedSchema, outcomes: inout [SyncMutationResult.Outcome], _ db: any SQLConnection
    ) throws {
        guard !rows.isEmpty else { return }
        try requireParents(schema, db)
        if let fileRules { try fileRules.requireNew(files, session: session, db) }
        let order = Dictionary(
            schema.tables.enumerated().map { ($1.typeName, $0) }, uniquingKeysWith: { first, _ in first })
        let sorted = groups.sorted {
            (order[$0.key.name] ?? 0, $0.key.version) < (order[$1.key.name] ?? 0, $1.key.version)
        }
        for (_, group) in sorted {
            let positions = try group.writer.sql.insert(
                group.keys, in: session.own, after: head, columns: group.writer.columns, values: group.columns, db)
            for (index, key) in zip(group.indexes, group.keys) {
                guard let position = positions[key] else { throw NotPlain() }
                outcomes[index] = .applied(position)
            }
        }
        groups = [:]
        rows = []
        parents = [:]
        files = []
        fileRules = nil
    }

    /// Checks that the parents that are not in this push belong to the account.
    private func requireParents(_ schema: CheckedSchema, _ db: any SQLConnection) throws {
        for (name, keys) in parents.sorted(by: { $0.key < $1.key }) {
            guard let table = schema.tables.first(where: { $0.name == name }) else { throw NotPlain() }
            let sql = TableSQL(table: table, dialect: db.dialect)
            guard try sql.count(of: keys.sorted(), in: session.own, db) == keys.count else { throw NotPlain() }
        }
    }
}

/// A push that has to be applied mutation by mutation, because one of them may have to be refused.
struct NotPlain: Error {}

extension RowAuthorization {
    /// Indicates that an account may always create its own rows of the table, and that they give no rights to others.
    var isOwnersAlone: Bool {
        switch schema.sharing.role(of: table.name) {
        case .none, .container: true
        case .members, .links, .partners, .people: false
        }
    }
}

extension RowWriter {
    /// Returns true if the table accepts the values of a new row by their kinds, and its line is short enough.
    func fits(_ mutation: SyncMutation) -> Bool {
        var known = 0
        var byteCount = mutation.key.utf8.count + 16
        for column in columns {
            byteCount += column.name.utf8.count + 16
            guard let value = mutation.row[column.name] else { continue }
            known += 1
            switch (value, column.kind) {
            case (.null, _): break
            case (.integer, .integer), (.real, .real): byteCount += 32
            // A character may be written with an escape of six bytes.
            case (.text(let text), .text):
                if text.utf8.contains(0) { return false }
                byteCount += text.utf8.count * 6
            case (.blob(let blob), .blob): byteCount += blob.count * 2
            default: return false
            }
        }
        return known == mutation.row.columns.count && byteCount <= Self.lineLimit
    }
}

extension FileRules {
    /// Returns true if the row of a new file has a valid key and status, and its object is not known to be missing.
    func isPlain(_ mutation: SyncMutation) -> Bool {
        guard check.mayAddFiles, let key = mutation.row.text("key"), Self.namespace(ofNew: key) != nil,
            let status = mutation.row.text("status")
        else { return false }
        return status == "local" || status == "remote" && !withoutObject.contains(mutation.sequence)
    }

    /// Checks the rows of new files, as `requireNew(_:session:_:)` does for one.
    ///
    /// - Throws: ``NotPlain`` if a row may have to be refused, and `SQLFailure`.
    func requireNew(
        _ files: [(key: String, isLocal: Bool)], session: SyncSession, _ db: any SQLConnection
    ) throws {
        var claimed: Set<String> = []
        for file in files {
            guard let namespace = NamespaceTable.namespace(of: file.key) else { throw NotPlain() }
            guard claimed.insert("\(file.isLocal) \(namespace)").inserted else { continue }
            let isOwn = try NamespaceTable.claim(
                namespace, for: session, isMaker: file.isLocal, limit: check.namespaceLimit, db)
            guard isOwn else { throw NotPlain() }
        }
        guard try !RemovalTable.hasAny(of: files.map(\.key), db) else { throw NotPlain() }
    }
}
