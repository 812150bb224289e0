import Foundation
import GRDB
import JournalStorage
import LFS
import Testing

@Suite("Media of assets", .timeLimit(.minutes(10)))
struct AssetMediaTests {
    private static let day = Date(timeIntervalSince1970: 1_750_000_000)

    /// Runs a body with a database and an asset that it contains.
    private func run(
        contentType: String = "video/mp4", _ body: (DatabaseStorageService, Asset) async throws -> Void
    ) async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database)
            let file = try await database.lfs.makeFile(
                from: .bytes(bytes(10)), name: "film.mp4", contentType: contentType)
            try await database.database.write { db in try file.insert(db) }
            let asset = Asset(remoteID: "r1", ownerID: "ann", file: file, createdAt: Self.day)
            try await database.saveAsset(asset)
            try await body(database, asset)
        }
    }

    @Test("An asset keeps its kind, size, duration, favourite mark and modification time")
    func stored() async throws {
        try await run { database, new in
            #expect(new.kind == .video && !new.isFavorite && new.width == nil && new.modifiedAt == nil)
            #expect(try await database.loadAssets(of: "ann") == [new])
            var asset = new
            asset.width = 1_920
            asset.height = 1_080
            asset.duration = .milliseconds(90_500)
            asset.isFavorite = true
            asset.modifiedAt = Self.day.addingTimeInterval(60)
            asset.kind = Asset.Kind(rawValue: "live photo")
            try await database.saveAsset(asset)
            #expect(try await database.loadAsset(remoteID: "r1") == asset)
            #expect(try await database.loadAssets(of: "ann", createdIn: Self.day..<Self.day + 1) == [asset])
            asset.width = nil
            asset.duration = nil
            asset.isFavorite = false
            try await database.saveAssets([asset])
            #expect(try await database.loadAssets(of: "ann") == [asset])
            #expect(try await database.deleteAssets(remoteIDs: ["r1"]) == 1)
        }
    }

    @Test(
        "The kind of a new asset is that of its content type",
        arguments: [
            ("image/jpeg", Asset.Kind.image), ("VIDEO/mp4", .video), ("audio/ogg", .audio), ("text/plain", .other),
            ("imagery", .other),
        ])
    func kinds(_ contentType: String, kind: Asset.Kind) async throws {
        try await run(contentType: contentType) { _, asset in #expect(asset.kind == kind) }
        #expect(Asset.Kind(contentType: nil) == .other)
    }

    @Test("A value that is not permitted is refused, and the stored asset is unchanged", arguments: 0..<7)
    func refused(_ number: Int) async throws {
        try await run { database, stored in
            var asset = stored
            switch number {
            case 0: asset.width = 0
            case 1: asset.height = -1
            case 2: asset.duration = .milliseconds(-1)
            case 3: asset.duration = .seconds(Int64.max)
            case 4: asset.modifiedAt = .distantFuture.addingTimeInterval(1e15)
            case 5: asset.kind = Asset.Kind(rawValue: "a\u{0}b")
            default: asset.duration = .seconds(3_155_760_001)
            }
            let error = await #expect(throws: FileStorageError.self) { try await database.saveAsset(asset) }
            #expect("\(error as Any)".contains("cannot be saved as it is"))
            #expect(error?.underlyingError == nil)
            let assets = try await database.loadAssets(of: "ann")
            #expect(assets == [stored])
        }
    }

    @Test("Values of another program are read or reported, without a trap")
    func hostile() async throws {
        try await run { database, _ in
            try await database.database.write { db in
                try db.execute(sql: "UPDATE asset SET duration = 9223372036854775807, width = -5, type = ''")
            }
            let asset = try #require(try await database.loadAssets(of: "ann").first)
            #expect(asset.width == -5 && asset.kind.rawValue.isEmpty)
            await #expect(throws: FileStorageError.self) { try await database.saveAsset(asset) }
            for value in ["'x'", "x'00'"] {
                try await database.database.write { db in
                    try db.execute(sql: "UPDATE asset SET isFavorite = \(value)")
                }
                let error = await #expect(throws: FileStorageError.self) {
                    _ = try await database.loadAssets(of: "ann")
                }
                #expect("\(error as Any)".contains("isFavorite"))
            }
        }
    }
}
