import Foundation
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Stored paths", .timeLimit(.minutes(10)))
struct StoredPathTests {
    private let id = "8B0E6B6E-6B9B-4C0B-9B5E-1F2A3B4C5D6E"

    private func moved(_ path: String, from database: String, to other: String) -> String {
        StoredPath.path(ofStored: StoredPath.stored(path, databasePath: database), databasePath: other)
    }

    @Test("A path in the folder of the database moves with it")
    func inside() {
        let stored = StoredPath.stored("/data/caf\u{E9}/a/b", databasePath: "/data/caf\u{E9}/app.sqlite")
        #expect(stored == "./a/b")
        #expect(StoredPath.path(ofStored: stored, databasePath: "/moved/app.sqlite") == "/moved/a/b")
    }

    @Test("A path in a folder with an equivalent name of other bytes is stored as it is")
    func equivalent() {
        let path = "/data/cafe\u{301}/app.settings"
        let stored = StoredPath.stored(path, databasePath: "/data/caf\u{E9}/app.sqlite")
        #expect(Array(stored.utf8) == Array(path.utf8))
    }

    @Test(
        "A path in the same container of an Apple system moves with the database",
        arguments: [
            "/private/var/mobile/Containers/Data/Application", "/private/var/mobile/Containers/Shared/AppGroup",
            "/Users/u/Library/Developer/CoreSimulator/Devices/1/data/Containers/Data/Application",
        ])
    func container(parent: String) {
        let database = "\(parent)/\(id)/Library/Application Support/app.sqlite"
        let stored = StoredPath.stored("\(parent)/\(id)/Documents/staging/x", databasePath: database)
        #expect(stored == "../../Documents/staging/x")
        #expect(
            StoredPath.path(ofStored: stored, databasePath: "\(parent)/2/Library/Application Support/app.sqlite")
                == "\(parent)/2/Documents/staging/x")
        let other = "\(parent)/3/Documents/staging/x"
        #expect(moved(other, from: database, to: "/moved/a.sqlite") == other)
    }

    @Test("A path in the sandbox of a macOS app moves with the database")
    func sandbox() {
        let home = "/Users/u/Library/Containers/org.example.app/Data"
        let stored = StoredPath.stored("\(home)/Documents/x", databasePath: "\(home)/Library/app.sqlite")
        #expect(stored == "../Documents/x")
    }

    @Test(
        "A path outside of the container is stored as it is",
        arguments: ["/mnt/disk/staging", "/data/other/x", "/data/app", "/data/apps/x"])
    func outside(path: String) {
        #expect(StoredPath.stored(path, databasePath: "/data/app/app.sqlite") == path)
        #expect(StoredPath.stored(path, databasePath: "") == path)
        #expect(StoredPath.path(ofStored: path, databasePath: "/data/app/app.sqlite") == path)
    }

    @Test("Links in a path are followed, as SQLite follows them")
    func links() async throws {
        try await withTemporaryFolder { folder in
            let real = URL(fileURLWithPath: StoredPath.resolved(folder.path)).child("real")
            try FileManager.default.createDirectory(at: real, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: folder.child("link"), withDestinationURL: real)
            let stored = StoredPath.stored(
                folder.child("link/missing/x").path, databasePath: real.child("app.sqlite").path)
            #expect(stored == "./missing/x")
        }
    }

    @Test(
        "Text that no version has stored is not made absolute",
        arguments: ["", ".", "..", "./", "../", "./a/../b", "./a//b", "../../../../x", "a/b", "./../x/.", "\0"])
    func hostile(text: String) {
        #expect(StoredPath.path(ofStored: text, databasePath: "/data/app/app.sqlite") == text)
    }
}
