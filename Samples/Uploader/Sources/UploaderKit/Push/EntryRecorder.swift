import GRDB
import LFS
import LFSBackup

/// A recorder for the folders and links of a walk. Unchanged ones are not written again.
struct EntryRecorder: Sendable {
    let database: any DatabaseWriter
    let report: Report
    let room: DiskRoom
    private static let batch = 500

    func record(_ entries: [Entry]) async throws {
        for batch in entries.chunks(of: Self.batch) {
            let paths = batch.map { $0.path }
            let known = try await database.read { db in try EntryTable.entries(at: paths, db) }
            let changed = batch.filter { known[$0.path] != $0 }
            if changed.isEmpty { continue }
            try await room.writingRows { try await database.write { db in try EntryTable.save(changed, db) } }
            for entry in changed { report.recorded(entry.path, isLink: entry.isLink) }
        }
    }

    /// Reports entries that no longer exist. Like those of files, their records stay until they are removed.
    ///
    /// - Parameter roots: absolute paths of folders.
    func tellGone(below roots: [FilePath]) async throws {
        var last = "".databaseValue
        while true {
            let page = try await database.read { [last] db in
                try EntryTable.page(after: last, limit: Self.batch, db)
            }
            guard let end = page.end else { return }
            last = end
            for entry in page.entries where Self.isIn(roots, path: entry.path) && entry.path.isGone {
                report.gone(entry.path)
            }
        }
    }

    private static func isIn(_ roots: [FilePath], path: FilePath) -> Bool {
        roots.contains { $0 == path || path.bytes.starts(with: $0.appending([]).bytes) }
    }
}
