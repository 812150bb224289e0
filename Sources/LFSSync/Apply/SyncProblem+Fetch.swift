public import GRDB

extension SyncProblem {
    /// The newest of each kind, refused ones first.
    ///
    /// - Parameters:
    ///   - limit: how many of each kind at the most.
    ///   - db: of any connection to a database whose migrations have run.
    public static func fetch(limit: Int = 20, _ db: Database) throws -> [SyncProblem] {
        try Outbox.rejections(limit, db) + Outbox.waiting(limit, db) + ParkedTable.newest(limit, db)
    }
}
