import Foundation
import GRDB
import LFS
import LFSBackup
import Testing

@Suite("Groups of originals", .timeLimit(.minutes(10)))
struct GroupTests {
    private func withTree(_ body: (PhotoApp) async throws -> Void) async throws {
        try await withPhotoApp { app in
            for name in ["a/1", "a/x/2", "a/x/y/3", "b/4", "5"] { try app.write(name, bytes: Array(name.utf8)) }
            try await body(app)
        }
    }

    static let selections: [([BackupGroup], Set<String>)] = [
        ([], []),
        ([.init("a", mode: .none)], []),
        ([.init("a", mode: .include)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init("a", mode: .include), .init("b", mode: .none)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init("a", mode: .include), .init("a/x", mode: .exclude)], ["a/1"]),
        ([.init("a/x", mode: .exclude), .init("a", mode: .include)], ["a/1"]),
        // Nothing in an excluded folder is included again.
        ([.init("a/x", mode: .exclude), .init("a/x/y", mode: .include)], []),
        ([.init("a", mode: .include), .init("a/x", mode: .exclude), .init("a/x/y", mode: .include)], ["a/1"]),
        ([.init("a", mode: .include), .init("a", mode: .exclude)], []),
        ([.init("a/x", mode: .include), .init("a", mode: .include)], ["a/1", "a/x/2", "a/x/y/3"]),
        ([.init(".", mode: .include), .init("a", mode: .exclude)], ["b/4", "5"]),
        ([.init("5", mode: .include), .init("a/1", mode: .include)], ["5", "a/1"]),
        ([.init("a", mode: .include), .init("a/1", mode: .exclude)], ["a/x/2", "a/x/y/3"]),
        ([.init("b/../a/x", mode: .include)], ["a/x/2", "a/x/y/3"]),
    ]

    @Test("Files in an included group and in no excluded group are backed up", arguments: selections)
    func selection(groups: [BackupGroup], expected: Set<String>) async throws {
        try await withTree { app in
            try await app.backUp(groups)
            #expect(try await app.names() == expected)
        }
    }

    @Test("A group has a name for users, and groups without one can be read")
    func names() throws {
        let stored = Data(#"[{"id":"/home/ada/Pictures","mode":"include"}]"#.utf8)
        var groups = try JSONDecoder().decode([BackupGroup].self, from: stored)
        #expect(groups.map(\.name) == [nil] && groups.map(\.title) == ["Pictures"])
        groups[0].name = "Holidays"
        let again = try JSONDecoder().decode([BackupGroup].self, from: try JSONEncoder().encode(groups))
        #expect(again == groups && again.map(\.title) == ["Holidays"])
        #expect(BackupGroup("/", mode: .none).title == "/" && BackupGroup("a", mode: .none, name: "").title == "a")
    }

    @Test("A link does not bypass the exclusion of a folder")
    func links() async throws {
        try await withTree { app in
            let link = app.pictures.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(
                at: link, withDestinationURL: app.pictures.appendingPathComponent("a/x/y"))
            try await app.backUp([.init("link", mode: .include), .init("a/x", mode: .exclude)])
            #expect(try await app.names() == [])
            _ = try await app.backUp([.init("a", mode: .include), .init("link", mode: .exclude)])
            #expect(try await app.names() == ["a/1", "a/x/2"])
            try await app.backUp([.init("link", mode: .include)])
            #expect(try await app.names() == ["a/1", "a/x/2", "link/3"])
        }
    }

    @Test("A missing excluded folder is an error, and a missing included one is reported")
    func absent() async throws {
        try await withTree { app in
            let groups = [BackupGroup("a", mode: .include), BackupGroup("a/z", mode: .exclude)]
            let refusal = await backupError { try await app.backUp(groups) }
            #expect(refusal?.code == .groupAbsent)
            #expect(refusal?.message.contains("a/z") == true)
            #expect(try await app.names() == [])
            let report = try await app.backUp([BackupGroup("a/z", mode: .include)])
            #expect(report.failed == 1)
        }
    }

    @Test("The engine applies the groups to a source that returns too much")
    func otherSource() async throws {
        try await withPhotoApp { app in
            try app.write("1", bytes: [1])
            let groups: [BackupGroup] = [.init("album", mode: .include), .init("hidden", mode: .exclude)]
            let albums: [(Set<String>, Int)] = [(["album", "hidden"], 0), (["other"], 0), ([], 0), (["album"], 1)]
            for (albums, count) in albums {
                let source = AlbumSource(app.pictures.appendingPathComponent("1"), albums: albums)
                try await Backup(app.lfs, database: app.database, source: source, groups: groups, host: app.host).run()
                #expect(try await app.count("photo") == count)
            }
        }
    }

    @Test("A deliberately deleted file stays away until it has other bytes or is requested")
    func declined() async throws {
        try await withTree { app in
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let file = try #require(try await app.file("5"))
            // One is deleted by its record, the other as the file itself.
            try await app.run("DELETE FROM photo WHERE fileId = ?", arguments: [file.id])
            try await app.run("DELETE FROM photo WHERE path LIKE '%/b/4'")
            try await app.lfs.waitForDeletions()
            var report = try await app.backUp()
            #expect(report.declined == 2 && report.attached == 0)
            // The same bytes again, as if the file had only been touched.
            try app.write("5", bytes: Array("5".utf8))
            report = try await app.backUp()
            #expect(report.declined == 2 && report.attached == 0)
            try app.write("5", bytes: Array("6".utf8))
            #expect(try await app.backUp().attached == 1)
            #expect(try await app.bytes("5") == Array("6".utf8))
            var options = BackupOptions()
            options.sendsDeclined = true
            #expect(try await app.backUp(nil, options: options).attached == 1)
            #expect(try await app.names().count == 5)
            #expect(try await app.backUp().unchanged == 5)
        }
    }

    @Test("A deletion that is rolled back or undone declines nothing")
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

/// A file as a photo in several albums.
private struct AlbumSource: AssetSource {
    let folder: FolderSource
    let albums: Set<String>

    init(_ url: URL, albums: Set<String>) {
        folder = FolderSource([BackupGroup(url.path, mode: .include)])
        self.albums = albums
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
