/// The SQL that counts the pending removals of objects of each account, in its row of `sync_account`.
///
/// An account needs no row for them, so its quota does not count them. Triggers count every change.
enum RemovalSQL {
    /// The bytes that each pending removal counts besides those of its key. The rows of files count more: their ids and
    /// hashes have a hundred bytes. So the removals of all files of an account are within its quota.
    static let fixedByteCount = 100

    /// The statement that adds the counter to a store.
    static let column = "ALTER TABLE sync_account ADD COLUMN removalBytes BIGINT NOT NULL DEFAULT 0"

    /// Returns the statements that create the triggers with their functions, and the index for a recount.
    static func objects(_ dialect: SQLDialect) -> [String] {
        let make = { (role: String, event: String, row: String, sign: String) in
            ScopeSQL(dialect: dialect).make(
                "sync_removal_\(role)", table: "sync_removal", event: event,
                """
                UPDATE sync_account SET removalBytes = removalBytes \(sign) \(byteCount(of: row, dialect))
                    WHERE id = \(row).accountID;
                """)
        }
        return make("counted", "AFTER INSERT", "NEW", "+") + make("uncounted", "AFTER DELETE", "OLD", "-")
            + ["CREATE INDEX \"sync_removal_account\" ON \"sync_removal\"(accountID)"]
    }

    /// Returns a statement that counts the removals of accounts again.
    ///
    /// - Parameter accounts: a condition for the rows of `sync_account`.
    static func recount(_ accounts: String, dialect: SQLDialect) -> String {
        """
        UPDATE sync_account SET removalBytes = (
            SELECT coalesce(sum(\(byteCount(of: "r", dialect))), 0) FROM sync_removal r
            WHERE r.accountID = sync_account.id)
        WHERE \(accounts)
        """
    }

    private static func byteCount(of row: String, _ dialect: SQLDialect) -> String {
        let length =
            switch dialect {
            case .sqlite: "length(CAST(\(row).key AS BLOB))"
            case .postgres: "octet_length(\(row).key)"
            }
        return "(\(length) + \(fixedByteCount))"
    }
}
