public import GRDB

/// The result of one synchronization.
public struct SyncReport: Sendable, Hashable {
    /// The number of local changes that the server has answered, without those that exceed a limit of the account.
    public var sent = 0
    /// The number of rows that other devices have changed.
    public var received = 0
    /// The number of local changes that are still pending.
    public var pending = 0
    /// The number of received rows that cannot be applied yet.
    public var parked = 0
    /// The number of local changes that the server has ever refused.
    public var rejected = 0
    /// The columns (`photo.width`) and tables (`photo`) that the server lacks for waiting changes. The changes are sent
    /// once the server has them, and count as ``pending`` until then.
    public var lacking: [String] = []
    /// The limits of the account that waiting changes exceed. The changes are sent once there is room, and count as
    /// ``pending`` until then.
    public var exceeded: [SyncQuotaError] = []

    /// Creates a report without any work.
    public init() {}

    /// Returns the waiting and refused changes of a database, or nil if sync was never installed in it. ``sent`` and
    /// ``received`` are zero.
    ///
    /// - Parameter db: any connection.
    public static func fetch(_ db: Database) throws -> SyncReport? {
        try db.tableExists("lfs_sync_state") ? try standing(in: db) : nil
    }

    static func standing(in db: Database) throws -> SyncReport {
        var report = SyncReport()
        report.pending = try Outbox.count(db)
        report.parked = try ParkedTable.count(db)
        report.rejected = try Outbox.rejectionCount(db)
        let reasons = try Outbox.reasons(db)
        report.lacking = reasons.filter(Outbox.isLack)
        report.exceeded = reasons.compactMap { SyncQuotaError(waits: $0) }
        return report
    }
}
