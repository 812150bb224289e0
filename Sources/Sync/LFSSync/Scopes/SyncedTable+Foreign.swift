public import GRDB

extension SyncedTable {
    /// Returns true if another account shares the row with this one, for example in an album. The account's own rows
    /// are not foreign, even if it shares them.
    ///
    /// - Parameters:
    ///   - id: the id of the row.
    ///   - table: the row's table.
    ///   - db: any connection to a database whose migrations have run.
    public static func isForeign(_ id: String, in table: String, _ db: Database) throws -> Bool {
        try MemberTable.contains(table, key: id, db)
    }
}
