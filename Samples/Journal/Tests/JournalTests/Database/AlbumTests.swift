import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing

@Suite("Albums and assets", .timeLimit(.minutes(10)))
struct AlbumTests {
    private static let day = Date(timeIntervalSince1970: 1_750_000_000)

    private func withDatabase(_ body: (Subject, DatabaseStorageService) async throws -> Void) async throws {
        try await withJournal(.database) { subject in try await body(subject, try #require(subject.database)) }
    }

    private func asset(
        _ database: DatabaseStorageService, seed: UInt8, owner: String = "ann", remote: String? = nil,
        local: String? = nil
    ) async throws -> Asset {
        try await database.makeAsset(from: .bytes(bytes(100, seed: seed))) { file in
            Asset(
                remoteID: remote, localID: local, ownerID: owner, file: file,
                createdAt: Self.day.addingTimeInterval(Double(seed)))
        }
    }

    @Test("An album is loaded by its id with all its values")
    func loaded() async throws {
        try await withDatabase { _, database in
            let album = Album(remoteID: "r", localID: "l", ownerID: "ann", name: "Best", createdAt: Self.day)
            try await database.saveAlbum(album)
            #expect(try await database.loadAlbum(album.id) == album)
            #expect(try await database.loadAlbum(UUID()) == nil)
        }
    }

    @Test("An asset is found by each of its ids and by its checksum")
    func found() async throws {
        try await withDatabase { _, database in
            let made = try await asset(database, seed: 1, remote: "r1", local: "l1")
            #expect(try await database.loadAsset(remoteID: "r1") == made)
            #expect(try await database.loadAsset(localID: "l1", ownerID: "ann") == made)
            #expect(try await database.loadAsset(checksum: made.checksum, ownerID: "ann") == made)
            #expect(try await database.loadAsset(checksum: made.checksum, ownerID: "bob") == nil)
            #expect(try await database.lfs.data(of: made.fileID) == bytes(100))
        }
    }

    @Test("Equal bytes are one asset per owner")
    func unique() async throws {
        try await withDatabase { _, database in
            let first = try await asset(database, seed: 1)
            #expect(try await asset(database, seed: 1) == first)
            let file = try await database.database.read { db in try FileData.fetchOne(db, key: first.fileID) }
            let copy = Asset(id: UUID(), ownerID: "ann", file: try #require(file), createdAt: Self.day)
            await #expect(throws: FileStorageError.self) { try await database.saveAsset(copy) }
            let other = try await asset(database, seed: 1, owner: "bob")
            #expect(other.checksum == first.checksum && other.id != first.id)
            #expect(try await database.loadAssets(of: "ann") == [first])
        }
    }

    @Test("Remote ids are unique, and local ids are unique per owner")
    func ids() async throws {
        try await withDatabase { _, database in
            _ = try await asset(database, seed: 1, remote: "r", local: "l")
            await #expect(throws: FileStorageError.self) {
                try await asset(database, seed: 2, owner: "bob", remote: "r")
            }
            await #expect(throws: FileStorageError.self) { try await asset(database, seed: 3, local: "l") }
            _ = try await asset(database, seed: 4, owner: "bob", local: "l")
            let album = Album(remoteID: "r", localID: "l", ownerID: "ann", name: "A", createdAt: Self.day)
            try await database.saveAlbum(album)
            for (remote, local, owner) in [("r", "x", "bob"), ("x", "l", "ann")] {
                await #expect(throws: FileStorageError.self) {
                    try await database.saveAlbum(
                        Album(remoteID: remote, localID: local, ownerID: owner, name: "B", createdAt: Self.day))
                }
            }
            #expect(try await database.loadAlbums(of: "ann") == [album])
            #expect(try await database.loadAlbums(of: "bob") == [])
        }
    }

    @Test("An album shows its assets in order, and its deletion keeps them")
    func album() async throws {
        try await withDatabase { _, database in
            var album = Album(ownerID: "ann", name: "Summer", createdAt: Self.day)
            try await database.saveAlbum(album)
            var assets: [Asset] = []
            for seed in 1...3 { assets.append(try await asset(database, seed: UInt8(seed))) }
            try await database.setAssets([2, 0, 1].map { assets[$0].id }, inAlbum: album.id)
            album.name = "Summer 2026"
            try await database.saveAlbum(album)
            #expect(try await database.loadAssets(inAlbum: album.id) == [assets[2], assets[0], assets[1]])
            await #expect(throws: FileStorageError.self) {
                try await database.setAssets([assets[0].id, assets[0].id], inAlbum: album.id)
            }
            await #expect(throws: FileStorageError.self) { try await database.setAssets([UUID()], inAlbum: album.id) }
            try await database.deleteAsset(assets[0].id)
            #expect(try await database.loadAssets(inAlbum: album.id) == [assets[2], assets[1]])
            try await database.deleteAlbum(album.id)
            #expect(try await database.loadAssets(of: "ann") == [assets[1], assets[2]])
        }
    }

    @Test("A picture that is also an asset stays until both are deleted")
    func shared() async throws {
        try await withDatabase { subject, database in
            let record = try record("2026-03-01T10:00:00Z")
            try await database.saveRecord(record)
            try await database.saveImage(bytes(100), for: record, filename: record.image(0))
            let file = try await database.imageFile(filename: record.image(0), for: record)
            let asset = Asset(ownerID: "ann", file: file, createdAt: Self.day)
            try await database.saveAsset(asset)
            try await database.deleteRecord(record)
            _ = try await database.lfs.waitForDeletions()
            #expect(try await database.lfs.data(of: asset.fileID) == bytes(100))
            try await database.lfs.waitForUploads()
            #expect(subject.storage.keys.count == 1)
            try await database.deleteAsset(asset.id)
            _ = try await database.lfs.waitForDeletions()
            #expect(subject.storage.keys.isEmpty)
        }
    }
}
