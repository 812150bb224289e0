/// A version of the server's own tables, and the changes that lead to it from the one before.
///
/// The changes add something and never remove or rename anything, so servers of earlier versions continue to work
/// during a rollout. A later release may end the support of them, which raises ``oldest``.
struct StoreVersion: Sendable {
    /// The number, which a store records when it has the ``additions``.
    let number: Int64
    /// The version of the oldest server that can use a store of this version.
    let oldest: Int64
    /// The statements for a store of an earlier version, which add columns with constant defaults. They run in one
    /// transaction, and take no longer for large tables.
    var additions: [String] = []
    /// The changes that may take long. They run after the transaction, while other servers use the store.
    var steps: [MigrationStep] = []

    /// The version of this server. Its additions are those of ``ServerTables``.
    static let current = StoreVersion(number: ServerTables.version, oldest: ServerTables.oldestVersion)
}
