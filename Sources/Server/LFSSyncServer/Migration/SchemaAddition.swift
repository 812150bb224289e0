/// A part of the server's own tables that stores of earlier servers lack.
///
/// Its objects are recorded without their statements. An earlier server therefore leaves them alone, and can still use
/// the store.
struct SchemaAddition: Sendable {
    /// The statements that add columns to tables.
    var columns: [String] = []
    /// The indexes, functions and triggers. A store without the first of them lacks the whole part.
    let objects: [SchemaObject]
    /// The statements that fill the columns.
    var fillings: [String] = []

    /// The statements that add the part to a store.
    var statements: [String] { columns + objects.map(\.source) + fillings }

    /// Returns all parts, in the order of their creation.
    static func all(_ dialect: SQLDialect) -> [SchemaAddition] {
        [namespaces(dialect), deletions(dialect), removals(dialect), versions(dialect)]
    }

    /// Returns the names of the objects of all parts.
    static func names(_ dialect: SQLDialect) -> [SchemaObject.Name] { all(dialect).flatMap { $0.objects.map(\.name) } }

    /// Returns the index with which the server counts the namespaces of an account.
    private static func namespaces(_ dialect: SQLDialect) -> SchemaAddition {
        let index = "CREATE INDEX \"sync_namespace_account\" ON \"sync_namespace\"(accountID)"
        return SchemaAddition(objects: [SchemaObject(index, dialect: dialect)])
    }

    /// Returns the counters of the records of deletions.
    private static func deletions(_ dialect: SQLDialect) -> SchemaAddition {
        SchemaAddition(
            columns: [DeletionSQL.column],
            objects: DeletionSQL.triggers(dialect).map { SchemaObject($0, dialect: dialect) },
            fillings: DeletionSQL.recount("1 = 1"))
    }

    /// Returns the counters of pending removals of objects.
    private static func removals(_ dialect: SQLDialect) -> SchemaAddition {
        SchemaAddition(
            columns: [RemovalSQL.column],
            objects: RemovalSQL.objects(dialect).map { SchemaObject($0, dialect: dialect) },
            fillings: [RemovalSQL.recount("1 = 1", dialect: dialect)])
    }

    /// Returns the records of the servers that can use the store, and of the steps of its migration.
    private static func versions(_ dialect: SQLDialect) -> SchemaAddition {
        let text = dialect == .sqlite ? "TEXT" : "TEXT COLLATE \"C\""
        return SchemaAddition(
            columns: [
                "ALTER TABLE sync_state ADD COLUMN oldestVersion BIGINT NOT NULL DEFAULT 0",
                "ALTER TABLE sync_state ADD COLUMN earlierTables \(text) NOT NULL DEFAULT ''",
            ],
            objects: [SchemaObject(ServerTables.step(dialect), dialect: dialect)])
    }
}
