import GRDB
import LFSStorage

extension RowState: FetchableRecord {
    init(row: Row) throws {
        file = try FileData(row: row)
        job = (row["jobState"] as String?).flatMap(Job.init(rawValue:))
        notBefore = row["notBefore"] ?? 0
        errorCode = row["errorCode"]
        errorMessage = row["errorMessage"]
        isSuspect = row["replacesObject"] ?? false
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

    init(row: Row) {
        id = row[0]
        key = row[1]
        isRemote = row[2] == FileData.Status.remote.rawValue
        byteCount = row[3]
        sha256 = row[4]
        job = (row[5] as String?).flatMap(RowState.Job.init(rawValue:))
        notBefore = row[6] ?? 0
    }

    private static let columns = """
        SELECT f.id, f.key, f.status, f.byteCount, f.sha256, j.state, j.notBefore
        FROM lfs_file f LEFT JOIN lfs_job j ON j.fileID = f.id
        """

    /// The rows after an id, in the order of their ids. Arguments: id, limit.
    static let all = columns + " WHERE f.id > ? ORDER BY f.id LIMIT ?"

    /// Those whose key begins with a text. Arguments: id, text, limit.
    static let below = columns + " WHERE f.id > ?1 AND substr(f.key, 1, length(?2)) = ?2 ORDER BY f.id LIMIT ?3"
}
