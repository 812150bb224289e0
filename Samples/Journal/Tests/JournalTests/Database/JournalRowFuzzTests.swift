import Foundation
import GRDB
import LFS
import LFSSync
import Testing

@testable import JournalStorage

/// The rows of a journal are untrusted input, because other devices, accounts and programs write them.
///
/// `LFS_FUZZ_ROUNDS` sets the number of written values, `LFS_FUZZ_SEED` sets the seed.
@Suite("Fuzzed rows of a journal", .serialized, .timeLimit(.minutes(60)))
struct JournalRowFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let perJournal = 40

    @Test("Random values in any row cause at most typed errors")
    func anyValue() async throws {
        let values = Self.environment["LFS_FUZZ_ROUNDS"].flatMap(Int.init) ?? 400
        let seed = Self.environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 42
        var written = 0
        for round in 0..<max(values / Self.perJournal, 1) {
            try await withJournal(.database) { subject in
                let database = try #require(subject.database)
                let record = try await prepare(database)
                written += try await scribble(seed &+ UInt64(round), database: database)
                await use(database, record: record)
            }
        }
        #expect(written > values / 10)
    }

    private func prepare(_ database: DatabaseStorageService) async throws -> TimeRecord {
        // Otherwise the uploads may be done before the values are written, and no job is left to write to. The journal
        // is opened again at the end, and uploads then.
        try await database.lfs.pause()
        var record = try record("2026-03-01T10:00:00Z", end: "2026-03-01T11:00:00Z")
        let tags = [Tag(name: "A"), Tag(name: "B")]
        try await database.saveTags(tags)
        record.tags = tags.map(\.id)
        try await database.saveRecord(record)
        for index in 0..<3 {
            try await database.saveImage(bytes(100, seed: UInt8(index)), for: record, filename: record.image(index))
        }
        let album = Album(ownerID: "me", name: "Summer", createdAt: Date(timeIntervalSince1970: 1_770_000_000))
        try await database.saveAlbum(album)
        let asset = try await database.makeAsset(from: .bytes(bytes(100, seed: 9))) { file in
            Asset(ownerID: "me", file: file, createdAt: Date(timeIntervalSince1970: 1_770_000_000))
        }
        try await database.addAssets([asset.id], toAlbum: album.id)
        try await database.saveMember(AlbumMember(albumID: album.id, accountID: "bob", name: "Bob"))
        try await database.database.write { db in
            try db.execute(
                sql: "INSERT INTO lfs_sync_member (tableName, key, scope) VALUES ('album', ?, 'album/x')",
                arguments: [album.id.text])
        }
        return record
    }

    /// Calls every operation of a journal. Errors are allowed.
    private func use(_ database: DatabaseStorageService, record: TimeRecord) async {
        var records = [record]
        await tolerated { records += try await database.loadRecords(before: nil, limit: 10) }
        await tolerated { records += try await database.loadAllRecords() }
        await tolerated { _ = try await database.loadRunningRecords() }
        await tolerated { _ = try await database.loadRecords(from: .distantPast, to: .distantFuture) }
        await tolerated { _ = try await database.loadTags() }
        await tolerated { try await database.addTag(Tag(name: "C")) }
        await tolerated { try await database.saveTags([Tag(name: "D")]) }
        for record in records.prefix(4) {
            _ = record.duration(until: .distantFuture)
            await tolerated { _ = try await database.loadRecord(record.id) }
            await tolerated { _ = try await database.storedImages(of: [record]) }
            await tolerated {
                _ = try await database.addImage(from: chunks(bytes(2)), for: record, fileExtension: "jpg")
            }
            await tolerated { _ = try await database.loadImage(filename: record.image(0), for: record) }
            await tolerated { try await database.deleteImage(filename: record.image(1), for: record) }
            await tolerated { try await database.updateRecord(record) }
        }
        await tolerated { _ = try await database.loadAssets(of: "me") }
        await tolerated {
            for album in try await database.loadAllAlbums(of: "me").albums {
                await tolerated { _ = try await database.loadImages(inAlbum: album.id) }
                await tolerated { _ = try await database.loadMembers(ofAlbum: album.id) }
                await tolerated { _ = try await database.isShared(album: album.id) }
                await tolerated {
                    let assets = try await database.loadAssets(inAlbum: album.id).map(\.id)
                    try await database.setAssets(assets.reversed(), inAlbum: album.id)
                    let made = try await database.makeAsset(from: .bytes(bytes(5))) { file in
                        Asset(ownerID: "me", file: file, createdAt: .distantFuture)
                    }
                    try await database.addAssets([made.id], toAlbum: album.id)
                }
                await tolerated { try await database.saveAlbum(album) }
            }
        }
    }

    private func tolerated(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            #expect(
                error is FileStorageError || error is LFSError || error is DatabaseError || error is RowDecodingError,
                "\(error)")
        }
    }

    /// - Returns: the number of values that the schema accepted.
    private func scribble(_ seed: UInt64, database: DatabaseStorageService) async throws -> Int {
        try await database.database.writeWithoutTransaction { db in
            var random = Numbers(state: seed)
            let columns = try Row.fetchAll(
                db,
                sql: """
                    SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND (m.name IN ('record', 'tag', 'record_tag', 'picture', 'asset', 'album',
                        'album_asset', 'album_member', 'album_local', 'lfs_job', 'lfs_file')) ORDER BY 1, 2
                    """
            ).map { (table: $0[0] as String, column: $0[1] as String) }
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            var written = 0
            for _ in 0..<Self.perJournal {
                let (table, column) = columns[random.next(below: columns.count)]
                do {
                    try db.execute(
                        sql: """
                            UPDATE OR IGNORE \(table) SET "\(column)" = ?
                            WHERE rowid IN (SELECT rowid FROM \(table) ORDER BY random() LIMIT 1)
                            """, arguments: [random.value()])
                    written += db.changesCount > 0 ? 1 : 0
                } catch is DatabaseError {
                    continue  // The schema refuses it.
                }
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
            return written
        }
    }
}

/// A generator of numbers and values that depend only on the seed.
private struct Numbers {
    var state: UInt64

    mutating func next(below limit: Int) -> Int {
        // Knuth's linear congruential generator (MMIX). The upper bits are more random.
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }

    mutating func value() -> DatabaseValue {
        let numbers: [Int64] = [.min, .max, -1, 0, 1, 1 << 31, 1 << 53, 253_402_300_800_000, -62_135_596_800_001]
        let doubles = [Double.infinity, -.infinity, 0.5, 1e300, -1e300]
        let texts = [
            "", "x", "me", "bob", "viewer", "queued", "failed", "local", "remote", "Europe/Berlin",
            "9223372036854775807",
            "00000000-0000-0000-0000-000000000000_0.jpg", "00000000-0000-0000-0000-000000000000", "..", "\u{0}",
            "e\u{301}",
            "9999-12-31 23:59:59.999", "-4713-01-01", String(repeating: "x", count: 3_000),
        ]
        switch next(below: 8) {
        case 0: return .null
        case 1, 2, 3: return numbers[next(below: numbers.count)].databaseValue
        case 4: return doubles[next(below: doubles.count)].databaseValue
        case 5: return Data([0xFF, 0xFE, 0x00]).databaseValue
        default: return texts[next(below: texts.count)].databaseValue
        }
    }
}
