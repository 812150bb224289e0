public import GRDB

extension SyncProblem {
    /// Returns the newest problems of each kind, refused changes first.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of each kind.
    ///   - db: any connection to a database whose migrations have run.
    public static func fetch(limit: Int = 20, _ db: Database) throws -> [SyncProblem] {
        try Outbox.rejections(limit, db) + Outbox.waiting(limit, db) + ParkedTable.newest(limit, db)
    }
}
