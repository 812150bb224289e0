import LFSDatabase
import LFSFiles
import LFSSystem

/// A scan of all rows in the order of their ids. It finds the files whose local bytes or jobs have to be compared
/// again.
///
/// Only one page of rows is in memory at a time.
struct FileScan: Sendable {
    struct Page: Sendable {
        var doubtful: [FileID] = []
        /// The errors of rows that cannot be read, one per row.
        var unreadable: [TableError] = []
        var files = 0
        var localFiles = 0
        var bytesRead: Int64 = 0
    }

    let runner: BackgroundRunner
    let store: LocalStore
    let namespace: Namespace
    let checksContent: Bool
    /// The same as ``FindingClassifier/furthest``.
    let furthest: Int64

    private static let pageSize = 1_000
    /// The maximum number of files that are read concurrently.
    private static let parallel = 4

    func run(_ onPage: (Page) async throws -> Void) async throws {
        try await runner.forEachPage { db, last in
            try FileTable.scan(after: last, limit: Self.pageSize, db)
        } _: { rows in
            try await onPage(try await scan(rows))
            return true
        }
    }

    private func scan(_ rows: [RowResult<ScannedRow>]) async throws -> Page {
        // Several files are read concurrently only when their bytes are read.
        let width = checksContent ? (rows.count + Self.parallel - 1) / Self.parallel : rows.count
        let parts = try await runEach(rows.chunks(of: width), atMost: Self.parallel) { rows in
            try await BlockingPool.shared.run { flag in
                var part = Page()
                for row in rows { try scan(row.record, into: &part, flag: flag) }
                return part
            }
        }
        var page = Page()
        for part in parts {
            page.doubtful += part.doubtful
            page.unreadable += part.unreadable
            page.files += part.files
            page.localFiles += part.localFiles
            page.bytesRead += part.bytesRead
        }
        page.doubtful.sort()
        return page
    }

    /// Blocks the thread.
    private func scan(
        _ record: Result<ScannedRow, TableError>, into page: inout Page, flag: CancellationFlag
    ) throws {
        try flag.check()
        page.files += 1
        switch record {
        case .failure(let problem): page.unreadable.append(problem)
        case .success(let row):
            let status = try store.status(of: row.id)
            if try isDoubtful(row, status: status, page: &page, flag: flag) { page.doubtful.append(row.id) }
        }
    }

    private func isDoubtful(
        _ row: ScannedRow, status: FileStatus?, page: inout Page, flag: CancellationFlag
    ) throws -> Bool {
        let isOurs = namespace.isOurs(row.key)
        if status != nil { page.localFiles += 1 }
        if row.isOdd { return true }
        if row.job == .failed { return true }
        if !row.isRemote, isOurs, row.job == nil || row.notBefore > furthest { return true }
        guard let status else { return !row.isRemote && isOurs }
        guard status.isRegularFile, status.byteCount == row.byteCount else { return true }
        guard checksContent else { return false }
        do {
            // The copy was removed during the scan. A `local` file without bytes has to be compared.
            guard let file = try store.open(row.id) else { return !row.isRemote }
            let hash = try ContentHash(of: file, byteCount: status.byteCount, flag)
            page.bytesRead += hash.byteCount
            return hash.hex != row.sha256
        } catch let error as SystemError where !error.isShortage {
            // A file that the disk cannot read is one finding. It does not end the scan.
            return true
        }
    }
}
