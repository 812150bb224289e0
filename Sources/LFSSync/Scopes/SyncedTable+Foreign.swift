public import GRDB

extension SyncedTable {
    /// Whether another account shares a row with this one, such as an album. Its own rows are not foreign, also when it
    /// shares them.
    ///
    /// - Parameters:
    ///   - id: of the row.
    ///   - table: its table.
    ///   - db: of any connection to a database whose migrations have run.
    public static func isForeign(_ id: String, in table: String, _ db: Database) throws -> Bool {
        try MemberTable.contains(table, id, db)
    }
}
