import Foundation
import GRDB
import LFS
import Testing

@testable import JournalStorage

/// Rows with numbers that no journal writes. Another account of a shared album or another program may have written
/// them.
@Suite("Rows with extreme numbers", .timeLimit(.minutes(10)))
struct HostileRowTests {
    static let extremes = [Int.max, .max - 1, 1 << 53, -1, .min]

    private func withDatabase(_ body: (DatabaseStorageService, TimeRecord) async throws -> Void) async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database)
            let record = try record("2026-03-01T10:00:00Z")
            try await database.saveRecord(record)
            try await body(database, record)
        }
    }

    private func execute(_ sql: String, number: Int, database: DatabaseStorageService) async throws {
        try await database.database.write { db in try db.execute(sql: sql, arguments: [number]) }
    }

    private func asset(_ seed: UInt8, database: DatabaseStorageService) async throws -> Asset {
        try await database.makeAsset(from: .bytes(bytes(100, seed: seed))) { file in
            Asset(ownerID: "me", file: file, createdAt: Date(timeIntervalSince1970: 1_770_000_000))
        }
    }

    @Test("Albums accept and sort pictures despite extreme positions", arguments: extremes)
    func albums(_ position: Int) async throws {
        try await withDatabase { database, _ in
            let album = Album(ownerID: "me", name: "Summer", createdAt: Date(timeIntervalSince1970: 1_770_000_000))
            try await database.saveAlbum(album)
            var assets: [Asset] = []
            for seed in 1...3 { assets.append(try await asset(UInt8(seed), database: database)) }
            try await database.addAssets([assets[0].id], toAlbum: album.id)
            try await execute("UPDATE album_asset SET position = ?", number: position, database: database)
            try await database.addAssets([assets[1].id, assets[2].id], toAlbum: album.id)
            #expect(Set(try await database.loadAssets(inAlbum: album.id)) == Set(assets))
            for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
                try await database.setAssets(order.map { assets[$0].id }, inAlbum: album.id)
                #expect(try await database.loadAssets(inAlbum: album.id) == order.map { assets[$0] })
            }
        }
    }

    @Test("Records accept pictures despite extreme positions", arguments: extremes)
    func positions(_ position: Int) async throws {
        try await withDatabase { database, record in
            try await database.saveImage(bytes(1), for: record, filename: record.image(0))
            try await execute("UPDATE picture SET position = ?", number: position, database: database)
            let added = try await database.addImage(from: chunks(bytes(2)), for: record, fileExtension: "jpg")
            #expect(Set(try await database.loadRecord(record.id).images) == [record.image(0), added])
            for order in [[record.image(0), added], [added, record.image(0)]] {
                try await execute(
                    "UPDATE picture SET position = ? WHERE number = 0", number: position, database: database)
                var sorted = try await database.loadRecord(record.id)
                sorted.images = order
                try await database.updateRecord(sorted)
                #expect(try await database.loadRecord(record.id).images == order)
            }
        }
    }

    @Test("Records accept pictures despite extreme picture numbers, and replace none", arguments: extremes)
    func numbers(_ number: Int) async throws {
        try await withDatabase { database, record in
            try await database.saveImage(bytes(1), for: record, filename: record.image(0))
            try await database.saveImage(bytes(2), for: record, filename: record.image(1))
            try await execute("UPDATE picture SET number = ?", number: number, database: database)
            let added = try await database.addImage(from: chunks(bytes(3)), for: record, fileExtension: "jpg")
            #expect(added == record.image(2))
            #expect(try await database.loadRecord(record.id).images == (0...2).map { record.image($0) })
            // Two devices gave the same name.
            let sql = "UPDATE picture SET name = '\(record.image(0))', number = ?"
            try await execute(sql, number: number, database: database)
            #expect(Set(try await database.loadRecord(record.id).images).count == 3)
        }
    }

    @Test("Tags can be added and sorted despite extreme positions", arguments: extremes)
    func tags(_ position: Int) async throws {
        try await withDatabase { database, record in
            let tags = [Tag(name: "A"), Tag(name: "B"), Tag(name: "C")]
            try await database.saveTags([tags[0]])
            try await execute("UPDATE tag SET position = ?", number: position, database: database)
            try await database.addTag(tags[1])
            try await database.addTag(tags[2])
            #expect(Set(try await database.loadTags()) == Set(tags))
            try await database.saveTags([tags[2], tags[0], tags[1]])
            #expect(try await database.loadTags() == [tags[2], tags[0], tags[1]])
            var tagged = record
            tagged.tags = [tags[0].id]
            try await database.updateRecord(tagged)
            try await execute("UPDATE record_tag SET position = ?", number: position, database: database)
            tagged.tags = [tags[1].id, tags[0].id, tags[2].id]
            try await database.updateRecord(tagged)
            #expect(try await database.loadRecord(record.id).tags == tagged.tags)
        }
    }

    @Test("An own album with an invalid time is reported as damaged", arguments: [Int.max, .min])
    func ownAlbum(_ time: Int) async throws {
        try await withDatabase { database, _ in
            try await database.saveAlbum(Album(ownerID: "me", name: "Summer", createdAt: Date()))
            try await execute("UPDATE album SET createdAt = ?", number: time, database: database)
            await #expect(throws: FileStorageError.self) { try await database.loadAlbums(of: "me") }
        }
    }
}
