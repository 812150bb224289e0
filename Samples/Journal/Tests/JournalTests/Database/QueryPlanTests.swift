import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Synchronization
import Testing

@Suite("Query plans", .timeLimit(.minutes(10)))
struct QueryPlanTests {
    private static let tables = ["record", "record_tag", "tag", "picture", "album", "asset", "album_asset"]

    /// A record of the statements that a database has run on the journal's tables, with their arguments.
    private final class Statements: Sendable {
        private let all = Mutex<Set<String>>([])

        func note(_ sql: String) { _ = all.withLock { $0.insert(sql) } }
        func take() -> Set<String> {
            all.withLock { statements in
                defer { statements = [] }; return statements
            }
        }
    }

    @Test("Queries and changes read no table from end to end")
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
                // A comment marks the statement of a trigger of LFS.
                return !sql.hasPrefix("--") && ["SELECT", "INSERT", "UPDATE", "DELETE"].contains(words.first)
                    && words.contains(where: Self.tables.contains)
            }
            #expect(seen.count > 20, "The trace has seen \(seen.count) statements only.")
            for sql in seen {
                let plan = try await pool.read { db in
                    try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)").compactMap { $0["detail"] as String? }
                }
                // This index contains only the running records, and this table only the deleted pictures. A virtual
                // table of `json_each` has only the ids that the statement is given.
                let allowed = [
                    "SCAN CONSTANT ROW", "SCAN record USING INDEX record_running", "SCAN picture_trash",
                    "SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN given VIRTUAL TABLE INDEX 1:",
                ]
                let scans = plan.filter { $0.hasPrefix("SCAN") && !allowed.contains($0) && !$0.contains("(subquery") }
                #expect(scans.isEmpty, "\(sql)\n\(plan.joined(separator: "\n"))")
            }
            try await journal.close()
        }
    }

    /// Calls every operation except those that must read all records or tags.
    private func use(_ journal: DatabaseStorageService) async throws {
        var record = try record("2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z", tags: [UUID()])
        try await journal.saveRecord(record)
        try await journal.saveImage(bytes(1), for: record, filename: record.image(0))
        record.images = [try await journal.addImage(from: chunks(bytes(2)), for: record, fileExtension: "jpg")]
        try await journal.updateRecord(record)
        _ = try await journal.loadRecords(from: .distantPast, to: .distantFuture)
        _ = try await journal.loadRunningRecords()
        _ = try await journal.loadRecord(record.id)
        for place in [nil, TimelinePlace(start: .distantFuture, id: record.id)] {
            #expect(try await journal.loadRecords(before: place, limit: 50).map(\.id) == [record.id])
        }
        _ = try await journal.storedImages(of: [record])
        let month = try #require(try await journal.loadPictureMonths(in: .gmt).first)
        let pictures = try await journal.loadPictures(from: month.start, to: month.end, limit: 10)
        #expect(pictures.count == month.count && pictures.map(\.number) == [1, 2])
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
        let picture = try await journal.imageFile(filename: record.image(0), for: record).id
        for _ in 0..<2 {
            try await journal.trashImage(picture, for: record)
            #expect(try await journal.loadDeletedImages(limit: 10).count == 1)
            try await journal.restoreImage(picture)
        }
        try await journal.trashImage(picture, for: record)
        #expect(try await journal.emptyTrash(before: .distantPast) == 0)
        try await journal.expireTrash(after: 30)
        try await journal.deleteTrashedImage(picture)
        try await journal.deleteRecord(record)
    }
}
