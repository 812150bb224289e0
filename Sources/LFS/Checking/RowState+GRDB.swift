import GRDB
import LFSStorage

extension RowState: FetchableRecord {
    init(row: Row) throws {
        file = try FileData(row: row)
        let checked = CheckedRow(row: row, table: "lfs_job")
        job = (try checked.value("jobState") as String?).flatMap(Job.init(rawValue:))
        notBefore = try checked.value("notBefore") ?? 0
        errorCode = try checked.value("errorCode")
        errorMessage = try checked.value("errorMessage")
        isSuspect = try checked.value("replacesObject") ?? false
    }

    private static let columns = """
        SELECT f.*, j.state AS jobState, j.notBefore, j.errorCode, j.errorMessage, j.replacesObject
        FROM lfs_file f LEFT JOIN lfs_job j ON j.fileID = f.id
        """

    static func fetchOne(_ db: Database, id: FileData.ID) throws -> RowState? {
        try RowState.fetchOne(db.cachedStatement(sql: columns + " WHERE f.id = ?"), arguments: [id])
    }
}

/// What a scan needs of a row, so that a page of them is small.
struct ScannedRow: FetchableRecord, Sendable {
    let id: FileData.ID
    let key: String
    let isRemote: Bool
    let byteCount: Int64
    let sha256: String
    let job: RowState.Job?
    let notBefore: Int64
    /// Whether a column that a scan does not need looks odd.
    let isOdd: Bool

    init(row: Row) throws {
        let checked = CheckedRow(row: row, table: FileData.databaseTableName)
        id = try checked.value("id")
        key = try checked.value("key")
        isRemote = try checked.value("status") == FileData.Status.remote
        byteCount = try checked.number("byteCount", in: 0...FileData.largestByteCount)
        sha256 = try checked.value("sha256")
        job = (try checked.value("jobState") as String?).flatMap(RowState.Job.init(rawValue:))
        notBefore = try checked.value("notBefore") ?? 0
        isOdd = try checked.value("isOdd")
    }

    private static let columns = """
        SELECT f.id, f.key, f.status, f.byteCount, f.sha256, j.state AS jobState, j.notBefore,
            NOT (\(Schema.isDate("f.createdAt"))) OR f.url IS '' OR typeof(f.updateID) <> 'text'
                OR 'blob' IN (typeof(f.url), typeof(f.name), typeof(f.contentType),
                    typeof(j.errorCode), typeof(j.errorMessage)) AS isOdd
        FROM lfs_file f LEFT JOIN lfs_job j ON j.fileID = f.id
        """

    /// The rows after an id, in the order of their ids. Arguments: id, limit.
    static let all = columns + " WHERE f.id > ? ORDER BY f.id LIMIT ?"

    /// Those whose key begins with a text. Arguments: id, text, limit.
    static let below = columns + " WHERE f.id > ?1 AND substr(f.key, 1, length(?2)) = ?2 ORDER BY f.id LIMIT ?3"
}
