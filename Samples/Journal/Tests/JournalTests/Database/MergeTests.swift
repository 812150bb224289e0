import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@testable import JournalStorage

/// The changes of two offline devices, in one database.
@Suite("Merged rows of two devices", .timeLimit(.minutes(10)))
struct MergeTests {
    private func run(_ body: (DatabaseStorageService, TimeRecord) async throws -> Void) async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database)
            let record = try record("2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z")
            try await database.saveRecord(record)
            try await body(database, record)
        }
    }

    @Test("Two pictures with one name are shown under distinct, stable names")
    func pictures() async throws {
        try await run { database, record in
            for index in 0..<3 {
                try await database.saveImage(
                    bytes(100, seed: UInt8(index)), for: record, filename: record.image(index))
            }
            // The name that another device gave its own picture.
            try await database.database.write { db in
                try db.execute(sql: "UPDATE picture SET name = ?, number = 0", arguments: [record.image(0)])
            }
            let names = try await database.loadRecord(record.id).images
            #expect(names == [record.image(0), record.image(1), record.image(2)])
            for (name, seed) in zip(names, 0..<3) {
                #expect(
                    try await database.loadImage(filename: name, for: record) == bytes(100, seed: UInt8(seed)))
            }
            let images = try await database.storedImages(of: [database.loadRecord(record.id)])
            #expect(Set(images.keys) == Set(names) && Set(images.values.map(\.file.id)).count == 3)
            try await database.deleteImage(filename: record.image(0), for: record)
            #expect(try await database.loadRecord(record.id).images == [record.image(1), record.image(2)])
            #expect(try await database.loadImage(filename: record.image(2), for: record) == bytes(100, seed: 2))
            let added = try await database.addImage(from: chunks(bytes(9)), for: record, fileExtension: "jpg")
            #expect(added == record.image(3))
        }
    }

    @Test("Entries with equal positions are sorted by id")
    func places() async throws {
        try await run { database, record in
            let tags = [Tag(name: "A"), Tag(name: "B"), Tag(name: "C")]
            try await database.saveTags(tags)
            var tagged = record
            tagged.tags = tags.map(\.id)
            try await database.updateRecord(tagged)
            try await database.database.write { db in
                try db.execute(sql: "UPDATE tag SET position = 7; UPDATE record_tag SET position = 7")
            }
            let sorted = tags.sorted { $0.id.text < $1.id.text }
            #expect(try await database.loadTags() == sorted)
            #expect(try await database.loadRecord(record.id).tags == sorted.map(\.id))
        }
    }

    @Test("A record whose merged end is before its start has zero length")
    func reversed() async throws {
        try await run { database, record in
            try await database.database.write { db in try db.execute(sql: "UPDATE record SET endedAt = startedAt - 5") }
            let read = try await database.loadRecord(record.id)
            #expect(read.start == record.start && read.end == record.start)
            let range = try await database.loadRecords(from: record.start, to: record.start.addingTimeInterval(1))
            #expect(range == [read])
            #expect(try await database.damagedRecords() == [])
            // The corrected end is not stored by another change of the record.
            try await database.updateRecord(record.id) { $0.comment = "Other" }
            func length() async throws -> Int? {
                try await database.database.read { try Int.fetchOne($0, sql: "SELECT endedAt - startedAt FROM record") }
            }
            #expect(try await length() == -5)
            try await database.updateRecord(record.id) { $0.end = $0.start.addingTimeInterval(1) }
            #expect(try await length() == 1_000)
        }
    }

    @Test("Two assets with one checksum are both kept, and lookups return the first")
    func assets() async throws {
        try await run { database, record in
            var assets: [Asset] = []
            for seed in 1...2 {
                assets.append(
                    try await database.makeAsset(from: .bytes(bytes(100, seed: UInt8(seed)))) {
                        Asset(ownerID: "me", file: $0, createdAt: record.start)
                    })
            }
            let checksum = assets[0].checksum
            try await database.database.write { db in
                try db.execute(sql: "UPDATE asset SET checksum = ?", arguments: [checksum])
            }
            let first = assets.map(\.id).min { $0.text < $1.text }
            #expect(try await database.loadAsset(checksum: checksum, ownerID: "me")?.id == first)
            #expect(try await database.loadAssets(of: "me").count == 2)
            // Each asset can still be changed. A third one with the checksum is refused.
            for var asset in try await database.loadAssets(of: "me") {
                asset.localID = "local \(asset.id.text)"
                try await database.saveAsset(asset)
            }
            let third = Asset(
                id: UUID(), remoteID: nil, localID: nil, ownerID: "me", checksum: checksum, createdAt: record.start,
                fileID: assets[0].fileID)
            await #expect(throws: FileStorageError.self) { try await database.saveAsset(third) }
        }
    }

    @Test("Saving unchanged values changes no row, and an addition changes no other")
    func differences() async throws {
        try await run { database, record in
            let tags = [Tag(name: "A"), Tag(name: "B"), Tag(name: "C")]
            try await database.saveTags(tags)
            var tagged = record
            tagged.tags = [tags[0].id, tags[1].id]
            try await database.updateRecord(tagged)
            let asset = try await database.makeAsset(from: .bytes(bytes(100))) {
                Asset(ownerID: "me", file: $0, createdAt: record.start)
            }
            let album = Album(ownerID: "me", name: "A", createdAt: record.start)
            try await database.saveAlbum(album)
            try await database.setAssets([asset.id], inAlbum: album.id)
            for index in 0..<2 {
                try await database.saveImage(bytes(100), for: record, filename: record.image(index))
            }
            try await database.lfs.waitForUploads()
            func noted(_ body: () async throws -> Void) async throws -> [String] {
                try await database.database.write { try $0.execute(sql: "DELETE FROM lfs_sync_outbox") }
                try await body()
                return try await database.database.read { db in
                    try String.fetchAll(
                        db,
                        sql: """
                            SELECT operation || ' ' || tableName || CASE columns WHEN '{}' THEN '' ELSE columns END
                            FROM lfs_sync_outbox
                            -- An upsert notes a change of nothing, which is not sent.
                            WHERE operation <> 'patch' OR columns <> '{}' ORDER BY id
                            """)
                }
            }
            let same = try await noted {
                try await database.saveTags(tags)
                try await database.updateRecord(tagged)
                try await database.saveAlbum(album)
                try await database.saveAsset(asset)
                try await database.setAssets([asset.id], inAlbum: album.id)
            }
            #expect(same == [])
            let added = try await noted { try await database.addTag(Tag(name: "D")) }
            #expect(added == ["put tag"])
            let fewer = try await noted { try await database.saveTags([tags[0], tags[2]]) }
            #expect(fewer == ["delete tag", "delete tag"])
            tagged.tags.append(tags[2].id)
            let more = try await noted { try await database.updateRecord(tagged) }
            #expect(more == ["put record_tag"])
            tagged.comment = "Other"
            tagged.tags.removeFirst()
            let changed = try await noted { try await database.updateRecord(tagged) }
            #expect(changed == [#"patch record{"comment":1}"#, "delete record_tag"])
            tagged.images = [record.image(1), record.image(0)]
            let moved = try await noted { try await database.updateRecord(tagged) }
            #expect(moved == [#"patch picture{"position":1}"#])
        }
    }
}
