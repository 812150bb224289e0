import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSync
import Testing

@testable import JournalStorage

@Suite("Migration of an earlier journal", .timeLimit(.minutes(10)))
struct MigrationTests {
    private static let id = (1...9).map { "0197b214-ba2c-7c71-89d1-4bbb56a51d0\($0)" }

    /// Creates a database of `journal.v1` with a row in each table, and returns the ids of its files.
    private func earlier(_ file: URL, on storage: InMemoryStorage) async throws -> [FileID] {
        let pool = try DatabasePool(path: file.path)
        try JournalSchema.migrator.migrate(pool, upTo: "journal.v1")
        let lfs = try await LFSManager.open(pool, options: LFSOptions(storage: storage))
        var files: [FileData] = []
        for seed in 1...3 { files.append(try await lfs.makeFile(from: .bytes(bytes(100, seed: UInt8(seed))))) }
        try await pool.write { [files] db in
            for file in files { try file.insert(db) }
            let id = Self.id
            try db.execute(
                sql: """
                    INSERT INTO tag VALUES ('\(id[0])', 1, 'Walk', NULL), ('\(id[1])', 0, 'Work', '#112233');
                    INSERT INTO record VALUES
                        ('\(id[2])', 1000, 2000, 'GMT', 'One'), ('\(id[3])', 3000, NULL, 'GMT', '');
                    INSERT INTO record_tag VALUES ('\(id[2])', 0, '\(id[1])'), ('\(id[2])', 1, '\(id[4])');
                    INSERT INTO picture VALUES
                        ('\(id[2])', '\(id[2])_3.jpg', 3, 0, '\(files[0].id)'),
                        ('\(id[2])', '\(id[2])_1.png', 1, 1, '\(files[1].id)');
                    INSERT INTO album VALUES ('\(id[5])', 'r', 'l', 'me', 'Summer', 4000);
                    INSERT INTO asset VALUES
                        ('\(id[6])', 'r', 'l', 'me', '\(files[0].sha256)', 5000, '\(files[0].id)'),
                        ('\(id[7])', NULL, NULL, 'me', '\(files[2].sha256)', 6000, '\(files[2].id)');
                    INSERT INTO album_asset VALUES ('\(id[5])', 0, '\(id[7])'), ('\(id[5])', 1, '\(id[6])')
                    """)
        }
        try await lfs.stop()
        try pool.close()
        return files.map(\.id)
    }

    @Test("Migration keeps records, tags, pictures, albums and assets")
    func whole() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "journal.sqlite")
            let storage = InMemoryStorage()
            let files = try await earlier(file, on: storage)
            let journal = try await DatabaseStorageService.open(at: file, options: LFSOptions(storage: storage))
            let ids = Self.id.compactMap(UUID.init(text:))
            #expect(
                try await journal.loadTags() == [
                    Tag(id: ids[1], name: "Work", color: "#112233"), Tag(id: ids[0], name: "Walk"),
                ])
            let records = try await journal.loadAllRecords()
            #expect(records.map(\.id) == [ids[2], ids[3]] && records.map(\.comment) == ["One", ""])
            #expect(records[0].tags == [ids[1], ids[4]])
            #expect(records[0].images == ["\(Self.id[2])_3.jpg", "\(Self.id[2])_1.png"])
            for (name, seed) in zip(records[0].images, 1...2) {
                let data = try await journal.loadImage(filename: name, for: records[0])
                #expect(data == bytes(100, seed: UInt8(seed)))
            }
            let album = try #require(try await journal.loadAlbums(of: "me").first)
            #expect(album.id == ids[5] && album.remoteID == "r" && album.localID == "l" && album.name == "Summer")
            let assets = try await journal.loadAssets(inAlbum: album.id)
            #expect(assets.map(\.id) == [ids[7], ids[6]] && assets.map(\.fileID) == [files[2], files[0]])
            #expect(assets.allSatisfy { $0.kind == .image && !$0.isFavorite && $0.width == nil && $0.duration == nil })
            #expect(try await journal.loadAsset(localID: "l", ownerID: "me")?.id == ids[6])
            #expect(try await journal.damagedRecords() == [])
            let broken = try await journal.database.read { db in
                try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count
                    + Row.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0[0] != "ok" }.count
            }
            #expect(broken == 0)
            try await journal.close()
        }
    }

    @Test("After the migration, a file is deleted with the last row that owns it")
    func owners() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "journal.sqlite")
            let storage = InMemoryStorage()
            let files = try await earlier(file, on: storage)
            let journal = try await DatabaseStorageService.open(at: file, options: LFSOptions(storage: storage))
            try journal.lfs.start()
            try await journal.lfs.waitForUploads()
            #expect(storage.keys.count == 3)
            let record = try #require(try await journal.loadAllRecords().first)
            try await journal.deleteRecord(record)
            _ = try await journal.lfs.waitForDeletions()
            // The first picture is also an asset.
            #expect(storage.keys.count == 2)
            let assets = try await journal.loadAssets(of: "me")
            #expect(Set(assets.map(\.fileID)) == [files[0], files[2]])
            for asset in assets { try await journal.deleteAsset(asset.id) }
            _ = try await journal.lfs.waitForDeletions()
            #expect(storage.keys.isEmpty)
            try await journal.close()
        }
    }

    @Test("Each synced table can be synced after the migration, and its rows are pending")
    func installed() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "journal.sqlite")
            _ = try await earlier(file, on: InMemoryStorage())
            let pool = try DatabasePool(path: file.path)
            try DatabaseStorageService.migrate(pool)
            let waiting = try await pool.read { db in
                for table in JournalSchema.synced {
                    let unique = try db.indexes(on: table).filter { $0.isUnique && $0.columns != ["id"] }
                    #expect(unique.isEmpty, "\(table): \(unique)")
                }
                return try SyncReport.fetch(db)?.pending
            }
            // 3 files, 2 tags, 2 records, 2 tags of a record, 2 pictures, an album, 2 assets and 2 links.
            #expect(waiting == 16)
            try pool.close()
        }
    }
}
