import LFSWire

extension TableSQL {
    /// Inserts new rows of one version with one statement.
    ///
    /// - Parameters:
    ///   - keys: the ids of the rows.
    ///   - scope: the scope of all rows.
    ///   - head: the head of the scope at the beginning of the transaction.
    ///   - columns: the columns of the version.
    ///   - values: the values of each column.
    /// - Returns: the positions of the rows.
    func insert(
        _ keys: [String], in scope: SyncScope, after head: String, columns: [SyncSchema.Column], values: [SQLColumn],
        _ db: any SQLConnection
    ) throws -> [String: SyncPosition] {
        var positions: [String: SyncPosition] = [:]
        positions.reserveCapacity(keys.count)
        let read = { (row: any SQLRow) in
            guard let key = try row.text(0), let position = try row.withBytes(1, { SyncPosition($0) }) else { return }
            positions[key] = position
        }
        let arguments: [SQLValue] = [.text(scope.description)]
        let rows = [SQLColumn(.text, values: keys.map { .text($0) })] + values
        try db.query(insertion(of: columns), arguments: arguments, columns: rows, read)
        guard dialect == .sqlite else { return positions }
        // SQLite's triggers give the positions after the statement has returned its rows.
        try db.query(
            "SELECT id, updateID FROM \(name) WHERE scopeID = ?1 AND updateID > ?2",
            arguments: arguments + [.text(head)]
        ) { row in
            try read(row)
            return true
        }
        return positions
    }

    private func insertion(of columns: [SyncSchema.Column]) -> String {
        let names = ["id", "scopeID"] + columns.map { Self.quoted($0.name) }
        let numbers = Array(3..<(3 + columns.count))
        let beginning = "INSERT INTO \(name) (\(names.joined(separator: ", ")))"
        switch dialect {
        case .sqlite:
            return "\(beginning) VALUES (\((["?2", "?1"] + numbers.map { "?\($0)" }).joined(separator: ", ")))"
        case .postgres:
            let values = (["n.c2", "?1"] + numbers.map { "n.c\($0)" }).joined(separator: ", ")
            let arrays = (["?2::text[]"] + zip(numbers, columns).map { "?\($0)::\(Self.array(of: $1.kind))" })
                .joined(separator: ", ")
            let list = (["c2"] + numbers.map { "c\($0)" }).joined(separator: ", ")
            return "\(beginning) SELECT \(values) FROM unnest(\(arrays)) AS n(\(list)) RETURNING id, updateID"
        }
    }

    private static func array(of kind: SyncSchema.Column.Kind) -> String {
        switch kind {
        case .integer: "bigint[]"
        case .real: "float8[]"
        case .text: "text[]"
        case .blob: "bytea[]"
        }
    }

    /// Returns how many rows with some ids a scope has.
    func count(of keys: [String], in scope: SyncScope, _ db: any SQLConnection) throws -> Int {
        var count = 0
        let condition = dialect == .sqlite ? "id = ?2" : "id = ANY(?2)"
        try db.query(
            "SELECT id FROM \(name) WHERE \(condition) AND scopeID = ?1", arguments: [.text(scope.description)],
            columns: [SQLColumn(.text, values: keys.map { .text($0) })]
        ) { _ in count += 1 }
        return count
    }
}

extension SQLColumn.Kind {
    init(_ kind: SyncSchema.Column.Kind) {
        switch kind {
        case .integer: self = .integer
        case .real: self = .real
        case .text: self = .text
        case .blob: self = .blob
        }
    }
}
