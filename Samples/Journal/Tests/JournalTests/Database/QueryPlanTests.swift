import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Synchronization
import Testing

@Suite("Every query is by an index", .timeLimit(.minutes(10)))
struct QueryPlanTests {
    private static let tables = ["record", "record_tag", "tag", "picture", "album", "asset", "album_asset"]

    /// The statements on the journal's tables that a database has run, with their arguments.
    private final class Statements: Sendable {
        private let all = Mutex<Set<String>>([])

        func note(_ sql: String) { _ = all.withLock { $0.insert(sql) } }
        func take() -> Set<String> {
            all.withLock { statements in
                defer { statements = [] }; return statements
            }
        }
    }

    @Test("What a page asks, and what a change does, reads no table from end to end")
    func indexes() async throws {
        try await withFolder { folder in
            let statements = Statements()
            var configuration = Configuration()
            configuration.prepareDatabase { db in
                db.trace { event in if case .statement(let statement) = event { statements.note(statement.expandedSQL) }
                }
            }
            let pool = try DatabasePool(path: folder.appending(path: "a.sqlite").path, configuration: configuration)
            try DatabaseStorageService.migrate(pool)
            let lfs = try await LFSManager.open(pool, options: LFSOptions(storage: InMemoryStorage()))
            let journal = DatabaseStorageService(database: pool, lfs: lfs)
            _ = statements.take()
            try await use(journal)
            let seen = statements.take().filter { sql in
                let words = sql.split { !$0.isLetter && $0 != "_" }.map(String.init)
                // A comment stands for the statement of a trigger, which belongs to LFS.
                return !sql.hasPrefix("--") && ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(words.first)
                    && words.contains(where: Self.tables.contains)
            }
            #expect(seen.count > 20, "The trace has seen \(seen.count) statements only.")
            for sql in seen {
                let plan = try await pool.read { db in
                    try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)").compactMap { $0["detail"] as String? }
                }
                // The index of the running records has nothing but these.
                let allowed = ["SCAN CONSTANT ROW", "SCAN record USING INDEX record_running"]
                let scans = plan.filter { $0.hasPrefix("SCAN") && !allowed.contains($0) && !$0.contains("(subquery") }
                #expect(scans.isEmpty, "\(sql)\n\(plan.joined(separator: "\n"))")
            }
            try await journal.close()
        }
    }

    /// Everything but what has to read all records or tags.
    private func use(_ journal: DatabaseStorageService) async throws {
        var record = try record("2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z", tags: [UUID()])
        try await journal.saveRecord(record)
        try await journal.saveImage(bytes(1), for: record, filename: record.image(0))
        record.images = [try await journal.addImage(from: chunks(bytes(2)), for: record, fileExtension: "jpg")]
        try await journal.updateRecord(record)
        _ = try await journal.loadRecords(from: .distantPast, to: .distantFuture)
        _ = try await journal.loadRunningRecords()
        _ = try await journal.loadRecord(record.id)
        for withImages in [false, true] {
            for place in [nil, TimelinePlace(start: .distantFuture, id: record.id)] {
                let page = try await journal.loadRecords(before: place, limit: 50, withImages: withImages)
                #expect(page.map(\.id) == [record.id])
            }
        }
        _ = try await journal.storedImages(of: [record])
        _ = try await journal.loadImage(filename: record.image(0), for: record)
        let asset = try await journal.makeAsset(from: .bytes(bytes(3))) { [record] in
            Asset(remoteID: "r", localID: "l", ownerID: "ann", file: $0, createdAt: record.start)
        }
        let album = Album(ownerID: "ann", name: "", createdAt: record.start)
        try await journal.saveAlbum(album)
        try await journal.setAssets([asset.id], inAlbum: album.id)
        _ = try await journal.loadAlbums(of: "ann")
        _ = try await journal.loadAssets(of: "ann")
        _ = try await journal.loadAssets(inAlbum: album.id)
        _ = try await journal.loadAsset(remoteID: "r")
        _ = try await journal.loadAsset(localID: "l", ownerID: "ann")
        try await journal.deleteAsset(asset.id)
        try await journal.deleteAlbum(album.id)
        try await journal.deleteImage(filename: record.image(0), for: record)
        try await journal.deleteRecord(record)
    }
}
