import LFSWire

/// The rows that refer to a row, and that its deletion deletes or detaches.
///
/// The deletion of a row with a hundred thousand of them takes longer than a push may, whichever account they belong
/// to. They are therefore removed before it, in transactions of their own.
struct DependentRows: Sendable {
    let schema: CheckedSchema
    let table: CheckedSchema.Table

    /// The number of rows after which a step ends. It detaches at most as many more for each reference.
    static let step = 500
    /// The number of levels that a step descends. It is larger than ``step``, so that a step that reaches it is not the
    /// last one.
    private static let depthLimit = 1_000

    /// A row, with the rows found below it that are not removed yet.
    private struct Parent {
        let table: CheckedSchema.Table
        let key: String
        var below: [Child] = []
    }

    /// A row below another one, and the column with its reference.
    private struct Child {
        let table: CheckedSchema.Table
        let key: String
        let column: String
    }

    /// Removes some of the rows below a row, the lowest ones first. The row itself stays.
    ///
    /// A row below the last level is moved up, under the highest row of its parent's table, which a later step removes.
    /// Databases cannot delete a chain of thousands of rows at once.
    ///
    /// - Returns: the number of rows that were deleted, detached or moved up. No row is left if it is less than
    ///   ``step``. Zero if the schema has references that might keep the row from being deleted.
    func removeSome(below key: String, _ db: any SQLConnection) throws -> Int {
        guard !hasBlockingReference else { return 0 }
        var count = 0
        var seen: Set<String> = [id(key, in: table)]
        var path = [try parent(key, in: table, count: &count, db)]
        while count < Self.step {
            if let child = path[path.count - 1].below.popLast() {
                // References within a table may form a circle.
                guard seen.insert(id(child.key, in: child.table)).inserted else { continue }
                if path.count >= Self.depthLimit, let top = highest(above: child, in: path) {
                    try move(child, below: top, db)
                    count += 1
                } else {
                    path.append(try parent(child.key, in: child.table, count: &count, db))
                }
                continue
            }
            let done = path.removeLast()
            if path.isEmpty { break }
            try db.execute(
                "DELETE FROM \(TableSQL.quoted(done.table.name)) WHERE id = ?1", arguments: [.text(done.key)])
            count += 1
        }
        return count
    }

    /// Returns the highest row of the table to which a row refers. Nil if that is its parent, which has only as many
    /// levels below it as there are tables.
    private func highest(above child: Child, in path: [Parent]) -> Parent? {
        let parent = path[path.count - 1]
        let top = path.first { $0.table.name == parent.table.name }
        return top?.key == parent.key ? nil : top
    }

    private func move(_ child: Child, below parent: Parent, _ db: any SQLConnection) throws {
        let (name, column) = (TableSQL.quoted(child.table.name), TableSQL.quoted(child.column))
        try db.execute(
            "UPDATE \(name) SET \(column) = ?2 WHERE id = ?1", arguments: [.text(child.key), .text(parent.key)])
    }

    /// Finds rows below a row. Detaches those that only lose their reference.
    private func parent(
        _ key: String, in table: CheckedSchema.Table, count: inout Int, _ db: any SQLConnection
    ) throws -> Parent {
        var parent = Parent(table: table, key: key)
        for reference in references(to: table) {
            let (name, column) = (TableSQL.quoted(reference.child.name), TableSQL.quoted(reference.column))
            let found = "SELECT id FROM \(name) WHERE \(column) = ?1 LIMIT \(Self.step)"
            switch reference.action {
            case .noAction: break
            case .setNull:
                count += try db.execute(
                    "UPDATE \(name) SET \(column) = NULL WHERE id IN (\(found))", arguments: [.text(key)])
            case .cascade:
                try db.query(found, arguments: [.text(key)]) { row in
                    if let key = try row.text(0) {
                        parent.below.append(Child(table: reference.child, key: key, column: reference.column))
                    }
                    return true
                }
            }
        }
        return parent
    }

    private func references(to parent: CheckedSchema.Table) -> [CheckedSchema.Reference] {
        schema.references.filter { $0.parent.name == parent.name }
    }

    /// True if a row of the table, or a row that is deleted with it, can have a reference that forbids its deletion.
    /// Rows below it must then stay until the whole deletion is known to succeed.
    private var hasBlockingReference: Bool {
        var deleted = [table]
        var index = 0
        while index < deleted.count {
            for reference in references(to: deleted[index]) {
                if reference.action == .noAction { return true }
                if reference.action == .cascade, !deleted.contains(where: { $0.name == reference.child.name }) {
                    deleted.append(reference.child)
                }
            }
            index += 1
        }
        return false
    }

    private func id(_ key: String, in table: CheckedSchema.Table) -> String { "\(table.name)/\(key)" }
}
