import Foundation
import GRDB
import LFS
import LFSBackup
import Testing

@Suite("Groups of originals", .timeLimit(.minutes(10)))
struct GroupTests {
    private func withTree(_ body: (PhotoApp) async throws -> Void) async throws {
        try await withPhotoApp { app in
            for name in ["a/1", "a/x/2", "a/x/y/3", "b/4", "5"] { try app.write(name, Array(name.utf8)) }
            try await body(app)
        }
    }

    static let selections: [([BackupGroup], Set<String>)] = [
        ([], []),
        ([.init("a", .none)], []),
        ([.init("a", .include)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init("a", .include), .init("b", .none)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init("a", .include), .init("a/x", .exclude)], ["a/1"]),
        ([.init("a/x", .exclude), .init("a", .include)], ["a/1"]),
        // Within an excluded folder nothing is included again.
        ([.init("a/x", .exclude), .init("a/x/y", .include)], []),
        ([.init("a", .include), .init("a/x", .exclude), .init("a/x/y", .include)], ["a/1"]),
        ([.init("a", .include), .init("a", .exclude)], []),
        ([.init("a/x", .include), .init("a", .include)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init(".", .include), .init("a", .exclude)], ["b/4", "5"]),
        ([.init("5", .include), .init("a/1", .include)], ["5", "a/1"]),
        ([.init("a", .include), .init("a/1", .exclude)], ["a/x/2", "a/x/y/3"]),
        ([.init("b/../a/x", .include)], ["a/x/2", "a/x/y/3"]),
    ]

    @Test("What is in an included group and in no excluded one is backed up", arguments: selections)
    func selection(groups: [BackupGroup], expected: Set<String>) async throws {
        try await withTree { app in
            try await app.backUp(groups)
            #expect(try await app.names() == expected)
        }
    }

    @Test("A link that leads into an excluded folder leads around no exclusion")
    func links() async throws {
        try await withTree { app in
            let link = app.pictures.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(
                at: link, withDestinationURL: app.pictures.appendingPathComponent("a/x/y"))
            try await app.backUp([.init("link", .include), .init("a/x", .exclude)])
            #expect(try await app.names() == [])
            _ = try await app.backUp([.init("a", .include), .init("link", .exclude)])
            #expect(try await app.names() == ["a/1", "a/x/2"])
            try await app.backUp([.init("link", .include)])
            #expect(try await app.names() == ["a/1", "a/x/2", "link/3"])
        }
    }

    @Test("An excluded folder that is not there is an error, and an included one is told")
    func absent() async throws {
        try await withTree { app in
            let groups = [BackupGroup("a", .include), BackupGroup("a/z", .exclude)]
            let refusal = await backupError { try await app.backUp(groups) }
            #expect(refusal?.code == .groupAbsent)
            #expect(refusal?.message.contains("a/z") == true)
            #expect(try await app.names() == [])
            let report = try await app.backUp([BackupGroup("a/z", .include)])
            #expect(report.failed == 1)
        }
    }

    @Test("The engine asks for the groups as well, where a source tells more than is wanted")
    func otherSource() async throws {
        try await withPhotoApp { app in
            try app.write("1", [1])
            let groups: [BackupGroup] = [.init("album", .include), .init("hidden", .exclude)]
            let albums: [(Set<String>, Int)] = [(["album", "hidden"], 0), (["other"], 0), ([], 0), (["album"], 1)]
            for (albums, count) in albums {
                let source = AlbumSource(app.pictures.appendingPathComponent("1"), albums)
                try await Backup(app.lfs, app.database, source, groups: groups, app.host).run()
                #expect(try await app.count("photo") == count)
            }
        }
    }

    @Test("What was deleted on purpose stays away, until it has other bytes or is asked for")
    func declined() async throws {
        try await withTree { app in
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let file = try #require(try await app.file("5"))
            // Once by its record, once the file itself.
            try await app.run("DELETE FROM photo WHERE fileId = ?", [file.id])
            try await app.run("DELETE FROM photo WHERE path LIKE '%/b/4'")
            try await app.lfs.waitForDeletions()
            var report = try await app.backUp()
            #expect(report.declined == 2 && report.attached == 0)
            // The same bytes again: somebody has only touched it.
            try app.write("5", Array("5".utf8))
            report = try await app.backUp()
            #expect(report.declined == 2 && report.attached == 0)
            try app.write("5", Array("6".utf8))
            #expect(try await app.backUp().attached == 1)
            #expect(try await app.bytes("5") == Array("6".utf8))
            var options = BackupOptions()
            options.sendsDeclined = true
            #expect(try await app.backUp(nil, options).attached == 1)
            #expect(try await app.names().count == 5)
            #expect(try await app.backUp().unchanged == 5)
        }
    }

    @Test("A deletion that is rolled back declines nothing, and neither does one that is taken back")
    func takenBack() async throws {
        try await withTree { app in
            try await app.backUp()
            let file = try #require(try await app.file("5"))
            try await app.database.write { db in
                try db.inSavepoint {
                    try db.execute(sql: "DELETE FROM photo WHERE fileId = ?", arguments: [file.id])
                    try file.delete(db)
                    return .rollback
                }
                try db.execute(sql: "DELETE FROM photo WHERE fileId = ?", arguments: [file.id])
                try file.delete(db)
                #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_source WHERE state = 'declined'") == 1)
                try file.insert(db)
                try db.execute(
                    sql: "INSERT INTO photo (path, fileId) VALUES (?, ?)",
                    arguments: [app.pictures.appendingPathComponent("5").path, file.id])
            }
            #expect(try await app.backUp().unchanged == 5)
        }
    }
}

/// One file as a photo that is in albums.
private struct AlbumSource: AssetSource {
    let folder: FolderSource
    let albums: Set<String>

    init(_ url: URL, _ albums: Set<String>) {
        (folder, self.albums) = (FolderSource([BackupGroup(url.path, .include)]), albums)
    }

    struct Walk: IteratorProtocol, Sendable {
        var base: FolderWalk
        let albums: Set<String>

        mutating func next() -> AssetItem? {
            guard case .asset(let asset)? = base.next() else { return nil }
            return .asset(Asset(id: asset.id, title: asset.title, stamp: asset.stamp, groups: albums))
        }
    }

    func makeWalk() throws -> Walk { Walk(base: try folder.makeWalk(), albums: albums) }
    func open(_ asset: Asset) throws -> OpenedAsset { try folder.open(asset) }
}
