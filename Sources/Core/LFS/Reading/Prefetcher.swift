import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// A prefetch of the files of a request, page by page, while no reader needs the network.
struct Prefetcher: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let reader: FileReader

    private static let page = 200
    /// The maximum number of files that are requested at once. The scheduler begins as many as may run, and has the
    /// next ones ready when one of them has ended.
    private static let maxAsked = 200

    func run(_ request: QueryInterfaceRequest<FileData>) async throws -> PrefetchSummary {
        // Eight bytes for each file keep the order and the limit of the request, which separate pages would not.
        let rows = try await runner.read { db in
            try Int64.fetchAll(db, request.offloaded().select(Column.rowID, as: Int64.self))
        }
        return try await withThrowingTaskGroup(of: (file: FileRow, failure: LFSError?).self) { group in
            var summary = PrefetchSummary()
            var asked = 0
            for page in rows.chunks(of: Self.page) {
                // The downloads of the previous page continue during this search.
                for file in try await absent(Array(page), summary: &summary) {
                    if asked == Self.maxAsked, let result = try await group.next() {
                        summary.add(result.file, failure: result.failure)
                        asked -= 1
                    }
                    group.addTask { (file: file, failure: try await fetch(file)) }
                    asked += 1
                }
            }
            for try await result in group { summary.add(result.file, failure: result.failure) }
            return summary
        }
    }

    /// Returns the files of a page that are not on this device, in the order of the page.
    private func absent(_ rows: [Int64], summary: inout PrefetchSummary) async throws -> [FileRow] {
        let (files, failures) = try await runner.read { db in
            let found = try FileData.filter(rows.contains(Column.rowID)).offloaded()
                .annotated(with: Column.rowID.forKey("position")).asRequest(of: RowResult<PlacedFile>.self).fetchAll(db)
            return (found.compactMap(\.readable), found.compactMap(\.problem))
        }
        for failure in failures { summary.add(LFSError(failure)) }
        let byRow = Dictionary(files.map { ($0.position, $0.file) }) { first, _ in first }
        let inOrder = rows.compactMap { byRow[$0] }
        let places = places
        let absent = try await BlockingPool.shared.run { flag in
            try inOrder.filter { file in
                try flag.check()
                return try !places.contains(file.id)
            }
        }
        summary.alreadyHere += inOrder.count - absent.count
        return absent
    }

    /// Returns the reason why a file could not be downloaded. Throws errors that end the whole prefetch.
    private func fetch(_ file: FileRow) async throws -> LFSError? {
        do {
            try await reader.fetch(file, for: .prefetch)
            return nil
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as LFSError where [.notRunning, .suspended, .noSpace].contains(error.code) {
            throw error
        } catch {
            if Task.isCancelled { throw CancellationError() }
            return LFSError(wrapping: error, fileID: file.id)
        }
    }

    private struct PlacedFile: FetchableRecord, Sendable {
        let file: FileRow
        let position: Int64

        init(row: Row) throws {
            file = try FileRow(row: row)
            position = try CheckedRow(row, of: FileTable.name).value("position")
        }
    }
}

/// The results of a ``LFSManager/prefetch(_:)``.
public struct PrefetchSummary: Sendable {
    /// The number of downloaded files, including those that a reader downloaded during the call.
    public var fetched = 0
    /// The sum of their sizes in bytes.
    public var fetchedBytes: Int64 = 0
    /// The number of files that were already on this device.
    public var alreadyHere = 0
    /// The number of files that could not be downloaded.
    public var failed = 0
    /// The errors of the first thousand failed files. Each error names its file.
    public var failures: [LFSError] = []

    mutating func add(_ file: FileRow, failure: LFSError?) {
        guard let failure else {
            fetched += 1
            fetchedBytes += file.byteCount
            return
        }
        add(failure)
    }

    mutating func add(_ failure: LFSError) {
        failed += 1
        if failures.count < 1_000 { failures.append(failure) }
    }
}
