import LFSDatabase
import LFSFiles
import LFSSystem

/// The promotion of the bytes of committed rows into the local store, batch by batch.
struct Promoter: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    private static let batch = 500

    /// Promotes the files of these rows, except those without a copy. Returns the ids of all, without those whose row
    /// was deleted.
    func promote(rows: [Int64]) async throws -> [FileID] {
        var promoted: [FileID] = []
        for batch in rows.chunks(of: Self.batch) {
            let (ids, inPlace) = try await runner.read { db in
                let ids = try FileTable.ids(inRows: batch, db)
                return (ids, try OriginalTable.existing(ids, db))
            }
            try await move(ids.filter { !inPlace.contains($0) })
            promoted += ids
        }
        return promoted
    }

    /// Promotes every staged file that has a row, from all staging areas, and calls the closure with the others. Files
    /// whose deletion is held are skipped, because their rows may come back.
    func promoteAll(_ onOther: @escaping @Sendable (StagingArea, FileCursor.Entry) throws -> Void) async throws {
        for area in places.areas {
            let cursor = try await BlockingPool.shared.run { _ in try area.files() }
            try await cursor.forEachPage { page in
                let ids = page.map(\.id)
                let (known, held) = try await runner.read { db in
                    (try FileTable.existing(ids, db), try TombstoneTable.held(ids, db))
                }
                try await move(ids.filter(known.contains))
                try await BlockingPool.shared.run { _ in
                    for entry in page where !known.contains(entry.id) && !held.contains(entry.id) {
                        try onOther(area, entry)
                    }
                }
            }
        }
    }

    private func move(_ ids: [FileID]) async throws {
        let places = places
        // Missing bytes are not an error of the promotion. The upload records them in the row. A file that cannot be
        // read does not delay the others.
        try await BlockingPool.shared.run { _ in
            var failure: SystemError?
            for id in ids {
                do throws(SystemError) { _ = try places.promote(id) } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
        }
    }
}
