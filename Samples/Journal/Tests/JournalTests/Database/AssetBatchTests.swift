import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing

@Suite("Batches of assets", .timeLimit(.minutes(10)))
struct AssetBatchTests {
    private static let day = Date(timeIntervalSince1970: 1_750_000_000)

    private func withDatabase(_ body: (DatabaseStorageService) async throws -> Void) async throws {
        try await withJournal(.database) { subject in try await body(try #require(subject.database)) }
    }

    /// Returns assets of new files that are in the database. Their times are one second apart.
    private func assets(_ count: Int, in database: DatabaseStorageService) async throws -> [Asset] {
        var assets: [Asset] = []
        for number in 0..<count {
            let file = try await database.lfs.makeFile(from: .bytes(bytes(10, seed: UInt8(number))))
            try await database.database.write { db in try file.insert(db) }
            assets.append(
                Asset(
                    remoteID: "r\(number)", localID: "l\(number)", ownerID: "ann", file: file,
                    createdAt: Self.day.addingTimeInterval(Double(number))))
        }
        return assets
    }

    @Test("A batch is stored like its single assets, and replaces earlier ones")
    func stored() async throws {
        try await withDatabase { database in
            var assets = try await assets(5, in: database)
            try await database.saveAssets(assets)
            #expect(try await database.loadAssets(of: "ann") == assets)
            assets[1].remoteID = nil
            assets[2].localID = nil
            // The two assets exchange their ids.
            assets[3].remoteID = "r4"
            assets[4].remoteID = "r3"
            try await database.saveAssets(assets)
            #expect(try await database.loadAssets(of: "ann") == assets)
            try await database.saveAssets([])
        }
    }

    @Test("A batch with one asset that is not permitted stores none", arguments: ["remote", "local", "checksum"])
    func refused(_ kind: String) async throws {
        try await withDatabase { database in
            var assets = try await assets(3, in: database)
            try await database.saveAsset(assets[0])
            switch kind {
            case "remote": assets[2].remoteID = "r0"
            case "local": assets[2].localID = "l0"
            default:
                let file = try await database.database.read { [id = assets[0].fileID] db in
                    try FileData.fetchOne(db, key: id)
                }
                assets[2] = Asset(id: UUID(), ownerID: "ann", file: try #require(file), createdAt: Self.day)
            }
            await #expect(throws: FileStorageError.self) { try await database.saveAssets(Array(assets.dropFirst())) }
            #expect(try await database.loadAssets(of: "ann") == [assets[0]])
        }
    }

    @Test("Two assets of one batch cannot have the same remote id")
    func repeated() async throws {
        try await withDatabase { database in
            var assets = try await assets(2, in: database)
            assets[1].remoteID = "r0"
            await #expect(throws: FileStorageError.self) { try await database.saveAssets(assets) }
            #expect(try await database.loadAssets(of: "ann") == [])
        }
    }

    @Test("The assets of a period are those from its start up to its end")
    func period() async throws {
        try await withDatabase { database in
            let assets = try await assets(4, in: database)
            try await database.saveAssets(assets)
            let period = Self.day.addingTimeInterval(1)..<Self.day.addingTimeInterval(3)
            #expect(try await database.loadAssets(of: "ann", createdIn: period) == Array(assets[1...2]))
            #expect(try await database.loadAssets(of: "bob", createdIn: period) == [])
        }
    }

    @Test("Assets are deleted by their remote ids, together with their places in albums")
    func deleted() async throws {
        try await withDatabase { database in
            let assets = try await assets(4, in: database)
            try await database.saveAssets(assets)
            let album = Album(ownerID: "ann", name: "Best", createdAt: Self.day)
            try await database.saveAlbum(album)
            try await database.setAssets(assets.map(\.id), inAlbum: album.id)
            #expect(try await database.deleteAssets(remoteIDs: ["r1", "r3", "unknown"]) == 2)
            #expect(try await database.loadAssets(of: "ann") == [assets[0], assets[2]])
            #expect(try await database.loadAssets(inAlbum: album.id) == [assets[0], assets[2]])
        }
    }

    @Test("10,000 assets are stored in at most twice the time of plain insertions")
    func large() async throws {
        try await withDatabase { database in
            let file = try await database.lfs.makeFile(from: .bytes([1]))
            try await database.database.write { db in try file.insert(db) }
            // Each asset has another owner, because an owner has one asset for each file.
            let assets = (0..<10_000).map { number in
                Asset(
                    id: UUID(), remoteID: "r\(number)", localID: "l\(number)", ownerID: "owner\(number)", file: file,
                    createdAt: Self.day)
            }
            // LFS deletes a file after its last asset, so one asset stays.
            try await database.saveAsset(
                Asset(remoteID: "kept", localID: "kept", ownerID: "kept", file: file, createdAt: Self.day))
            func plain() async throws -> Duration {
                try await ContinuousClock().measure {
                    try await database.database.write { db in
                        for asset in assets {
                            try db.execute(
                                sql: """
                                    INSERT INTO asset (id, remoteId, ownerId, checksum, createdAt, fileId, type, width,
                                        height, duration, isFavorite, modifiedAt)
                                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                                    """,
                                arguments: [
                                    asset.id.uuidString.lowercased(), asset.remoteID, asset.ownerID, asset.checksum,
                                    Int64(asset.createdAt.timeIntervalSince1970 * 1_000), asset.fileID,
                                    asset.kind.rawValue, asset.width, asset.height, nil, asset.isFavorite, nil,
                                ])
                            try db.execute(
                                sql: "INSERT INTO asset_local (assetId, localId) VALUES (?, ?)",
                                arguments: [asset.id.uuidString.lowercased(), asset.localID])
                        }
                    }
                }
            }
            var insertion = Duration.seconds(86_400)
            var batch = Duration.seconds(86_400)
            var round = 0
            // Other tests delay single measurements, so the fastest ones count.
            repeat {
                round += 1
                insertion = min(insertion, try await plain())
                #expect(try await database.deleteAssets(remoteIDs: assets.compactMap(\.remoteID)) == 10_000)
                batch = min(batch, try await ContinuousClock().measure { try await database.saveAssets(assets) })
                #expect(try await database.deleteAssets(remoteIDs: assets.compactMap(\.remoteID)) == 10_000)
            } while batch > insertion * 2 && round < 10
            #expect(batch <= insertion * 2, "\(batch) instead of \(insertion)")
        }
    }
}
