import LFSSystem

/// The limits of an account.
public enum AccountLimit: String, Sendable, Hashable, CaseIterable {
    /// The number of rows.
    case rows
    /// The bytes of rows: their ids, texts and blobs, and eight bytes for each number.
    case rowBytes = "row_bytes"
    /// The bytes of files, as the rows of files declare them.
    case fileBytes = "file_bytes"
    /// The number of sessions.
    case sessions

    /// The maximum value of a limit. Sums of counters below it do not overflow.
    public static let largestValue: Int64 = (1 << 53) - 1
    /// The maximum number of shared scopes of an account. It applies to the scopes that the account owns, and
    /// separately to those that others have given it.
    static let sharedScopes = 1_000

    /// The column of `sync_account` with the account's own limit. NULL stands for the limit of the server.
    var column: String {
        switch self {
        case .rows: "rowLimit"
        case .rowBytes: "rowByteLimit"
        case .fileBytes: "fileByteLimit"
        case .sessions: "sessionLimit"
        }
    }
}

/// The storage that an account may use.
public struct AccountQuota: Sendable, Hashable {
    /// The maximum number of rows. The default is 5,000,000.
    public var rows: Int64 = 5_000_000
    /// The maximum bytes of rows: their ids, texts and blobs, and eight bytes for each number. The default is 1 GiB.
    public var rowBytes: Int64 = 1 << 30
    /// The maximum bytes of files, as the rows of files declare them. The default is 1 TiB.
    public var fileBytes: Int64 = 1 << 40

    /// Creates the default quota: 5,000,000 rows, 1 GiB of rows, and 1 TiB of files.
    public init() {}
}

/// The storage that an account uses. The database counts it when rows change.
public struct AccountUsage: Sendable, Hashable {
    /// The number of rows.
    public internal(set) var rows: Int64 = 0
    /// The bytes of rows: their ids, texts and blobs, and eight bytes for each number.
    public internal(set) var rowBytes: Int64 = 0
    /// The bytes of files, as the rows of files declare them.
    public internal(set) var fileBytes: Int64 = 0

    static func + (left: AccountUsage, right: AccountUsage) -> AccountUsage {
        var sum = left
        sum.rows = left.rows.addingSaturated(right.rows)
        sum.rowBytes = left.rowBytes.addingSaturated(right.rowBytes)
        sum.fileBytes = left.fileBytes.addingSaturated(right.fileBytes)
        return sum
    }

    /// Returns the first limit that is exceeded and whose counter has grown, or nil.
    ///
    /// - Parameter before: the usage before the change. A change that makes nothing larger is always within the quota.
    func excess(over quota: AccountQuota, since before: AccountUsage) -> (limit: AccountLimit, value: Int64)? {
        if rows > quota.rows, rows > before.rows { return (.rows, quota.rows) }
        if rowBytes > quota.rowBytes, rowBytes > before.rowBytes { return (.rowBytes, quota.rowBytes) }
        if fileBytes > quota.fileBytes, fileBytes > before.fileBytes { return (.fileBytes, quota.fileBytes) }
        return nil
    }
}
