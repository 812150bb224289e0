import GRDB
import LFSFiles
import LFSSystem
import LFSTransfer

/// Moves the bytes of committed rows into the local store, batch by batch.
struct Promoter: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    private static let batch = 500

    /// Promotes the files of these rows. Returns their ids, without those whose row has gone meanwhile.
    func promote(rows: [Int64]) async throws -> [FileData.ID] {
        var promoted: [FileData.ID] = []
        for start in stride(from: 0, to: rows.count, by: Self.batch) {
            let batch = rows[start..<min(start + Self.batch, rows.count)]
            let ids = try await runner.read { db in
                let marks = databaseQuestionMarks(count: batch.count)
                return try String.fetchAll(
                    db, sql: "SELECT id FROM lfs_file WHERE rowid IN (\(marks))",
                    arguments: StatementArguments(batch))
            }
            try await move(ids.compactMap(FileID.init))
            promoted += ids
        }
        return promoted
    }

    /// Promotes every staged file that a row claims, wherever it is staged, and calls the closure with the others.
    func promoteAll(_ onUnclaimed: @escaping @Sendable (StagingArea, FileCursor.Entry) throws -> Void) async throws {
        for area in places.areas {
            let cursor = try await BlockingPool.shared.run { _ in try area.files() }
            while let page = try await BlockingPool.shared.run({ _ in try cursor.next() }) {
                let claimed = try await claimed(page.map(\.id.text))
                try await move(page.map(\.id).filter { claimed.contains($0.text) })
                try await BlockingPool.shared.run { _ in
                    for entry in page where !claimed.contains(entry.id.text) { try onUnclaimed(area, entry) }
                }
            }
        }
    }

    private func claimed(_ ids: [String]) async throws -> Set<String> {
        try await runner.read { db in
            let marks = databaseQuestionMarks(count: ids.count)
            return try Set(
                String.fetchAll(
                    db, sql: "SELECT id FROM lfs_file WHERE id IN (\(marks))", arguments: StatementArguments(ids)))
        }
    }

    private func move(_ ids: [FileID]) async throws {
        let places = places
        // Bytes that are nowhere are the upload's business: it says so in the row. One file that cannot be read holds up
        // no other.
        try await BlockingPool.shared.run { _ in
            var failure: SystemError?
            for id in ids {
                do throws(SystemError) { _ = try places.promote(id) } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
        }
    }
}
