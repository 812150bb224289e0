public import GRDB

/// What has come of one synchronization.
public struct SyncReport: Sendable, Hashable {
    /// Local changes that the server has answered.
    public var sent = 0
    /// Rows that others have changed.
    public var received = 0
    /// Local changes that wait still.
    public var pending = 0
    /// Rows that have come and cannot be applied yet.
    public var parked = 0
    /// Local changes that the server has refused, of all times.
    public var rejected = 0
    /// What the server lacks for changes that wait: `photo.width` for a column, `photo` for a table. They are sent once
    /// the server has it, and count as ``pending`` until then.
    public var lacking: [String] = []

    public init() {}

    /// What waits in a database, nil when sync was never installed in it. Nothing is sent, and nothing was received.
    ///
    /// - Parameter db: of any connection.
    public static func fetch(_ db: Database) throws -> SyncReport? {
        try db.tableExists("lfs_sync_state") ? try standing(in: db) : nil
    }

    static func standing(in db: Database) throws -> SyncReport {
        var report = SyncReport()
        report.pending = try Outbox.count(db)
        report.parked = try ParkedTable.count(db)
        report.rejected = try Outbox.rejectionCount(db)
        report.lacking = try Outbox.lacks(db)
        return report
    }
}
