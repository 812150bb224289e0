import Foundation
import GRDB
import LFS

/// A reader for `list`. It reads only the shown columns, so that a hundred thousand rows are listed within a second.
struct FileList: Sendable {
    /// The order of the files.
    enum Order: String, CaseIterable, Sendable { case path, size, date, status }

    /// The conditions for shown files.
    struct Filter: Sendable {
        var status: Status?
        var isHere: Bool?
        var isPinned = false
    }

    /// The status that a filter requires.
    enum Status: String, CaseIterable, Sendable { case local, remote, failed }

    let table: DocumentTable
    let filter: Filter
    let order: Order
    let isReversed: Bool
    /// The ids of the files with local copies.
    let here: Set<String>
    /// True to list old versions that no document uses instead of the current files.
    var isOfVersions = false

    /// A line of the list.
    struct Line: Sendable {
        var id: FileID
        var path: FilePath
        var isRemote: Bool
        /// True if its upload was given up, or if its object or bytes were found missing or damaged.
        var isFailed: Bool
        var byteCount: Int64
        var url: String?
        var date: Date?
        var isHere: Bool
        var isPinned: Bool
        var isVersion: Bool
    }

    /// - Parameter keys: the documents to show, or the files in a database without documents. Nil for all.
    func forEach(
        _ keys: [DatabaseValue]?, _ db: Database, _ body: (Result<Line, UnusableRow>) throws -> Void
    ) throws {
        let wanted = keys.map(Set.init)
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
            if let wanted, !wanted.contains(row[0]) { continue }
            let line = line(row)
            if case .success(let line) = line, !shows(line) { continue }
            try body(line)
        }
    }

    private func shows(_ line: Line) -> Bool {
        let hasStatus =
            switch filter.status {
            case .local: !line.isRemote
            case .remote: line.isRemote
            case .failed: line.isFailed
            case nil: true
            }
        return hasStatus && (filter.isHere.map { $0 == line.isHere } ?? true)
            && (!filter.isPinned || line.isPinned)
    }

    // MARK: Rows

    private var sql: String {
        """
        SELECT \(columns),
            f.id, f.status, f.byteCount, f.url, c.isPinned, j.state
        FROM \(source)
            LEFT JOIN lfs_copy c ON c.fileID = f.id LEFT JOIN lfs_job j ON j.fileID = f.id
        WHERE \(table.filter)
        ORDER BY \(column) \(isReversed ? "DESC" : "ASC"), 2, 1
        """
    }

    private var columns: String {
        if isOfVersions { return "d.id, d.path, r.addedAt" }
        return table.isOurs ? "d.id, d.path, d.addedAt" : "f.id, \(DocumentTable.name), f.createdAt"
    }

    private var source: String {
        guard isOfVersions else {
            return table.isOurs ? "uploader_document d JOIN lfs_file f ON f.id = d.fileId" : "lfs_file f"
        }
        return """
            (
                SELECT documentId, fileId, max(addedAt) AS addedAt FROM uploader_replaced v
                WHERE replacedAt IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM uploader_document c WHERE c.fileId = v.fileId)
                GROUP BY documentId, fileId
            ) r JOIN uploader_document d ON d.id = r.documentId JOIN lfs_file f ON f.id = r.fileId
            """
    }

    private var column: String {
        switch order {
        case .path: "2"
        case .size: "f.byteCount"
        case .date: "3"
        case .status: "CASE j.state WHEN '\(Upload.State.failed.rawValue)' THEN 'failed' ELSE f.status END"
        }
    }

    /// Reads columns by position, because a lookup by name takes longer than everything else.
    private func line(_ row: Row) -> Result<Line, UnusableRow> {
        func unusable(_ column: String) -> Result<Line, UnusableRow> {
            let id = String.fromDatabaseValue(row[3]) ?? "?"
            return .failure(
                UnusableRow(fileID: id, reason: "its row has no usable \(column): another program wrote it"))
        }
        guard let id = FileID(stored: row[3]) else { return unusable("id") }
        guard var path = FilePath.fromDatabaseValue(row[1]) else { return unusable("path") }
        if !table.isOurs, let name = path.text { path = FilePath(DocumentTable.title(name)) }
        guard let text = String.fromDatabaseValue(row[4]), let status = FileData.Status(rawValue: text) else {
            return unusable("status")
        }
        guard case .int64(let byteCount) = (row[5] as DatabaseValue).storage, byteCount >= 0 else {
            return unusable("byteCount")
        }
        let url: DatabaseValue = row[6]
        guard url.isNull || String.fromDatabaseValue(url) != nil else { return unusable("url") }
        return .success(
            Line(
                id: id, path: path, isRemote: status == .remote,
                isFailed: String.fromDatabaseValue(row[8]) == Upload.State.failed.rawValue,
                byteCount: byteCount, url: String.fromDatabaseValue(url), date: Date.fromDatabaseValue(row[2]),
                isHere: here.contains(id.uuidString), isPinned: Bool.fromDatabaseValue(row[7]) ?? false,
                isVersion: isOfVersions))
    }
}

extension FileList {
    /// Returns the ids of the files with local copies. In the database's local store, the name of each file is its id.
    ///
    /// - Returns: nil if this user has no access to the store.
    /// - Throws: ``UploaderError`` if the store exists and cannot be read.
    static func idsHere(database path: String) throws -> Set<String>? {
        let folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + ".lfs"
        guard let stream = opendir(folder) else {
            if errno == ENOENT { return [] }
            if errno == EACCES { return nil }
            throw UploaderError("\(folder) cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { closedir(stream) }
        var ids: Set<String> = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else {
                    throw UploaderError("\(folder) cannot be read: \(String(cString: strerror(errno)))")
                }
                return ids
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.utf8.count == 36 { ids.insert(name) }
        }
    }
}
