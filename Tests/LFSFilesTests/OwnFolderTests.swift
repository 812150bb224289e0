import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("A folder in which files are kept", .timeLimit(.minutes(10)))
struct OwnFolderTests {
    private static let databaseID = "01a20076-3bbf-7fbb-bdd9-8003ed0c16b4"

    private func withStore(_ body: (LocalStore, URL) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try body(LocalStore(at: folder.child("app.lfs").path, databaseID: Self.databaseID), folder)
        }
    }

    private func setMode(_ mode: Int, _ url: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    }

    @Test("has to be this user's, for root as for others", .enabled(if: geteuid() == 0, "needs root to give one away"))
    func owner() async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let owner = try StagingOwner(of: store)
            let area = try StagingArea(in: location.path, wasUsed: false, owner)
            for (url, isArea) in [(URL(fileURLWithPath: store.path), false), (area.url, true), (location, true)] {
                #expect(chown(url.path, 65_534, 65_534) == 0)
                if isArea {
                    guard case .closed(let place) = StagingPlace.look(at: area.path, owner) else {
                        Issue.record("\(url.path) is used.")
                        continue
                    }
                    #expect(place.reason.contains("belongs to user 65534"))
                } else {
                    let error = #expect(throws: FileError.self) {
                        try LocalStore(at: store.path, databaseID: Self.databaseID)
                    }
                    #expect(error?.code == .permissionDenied)
                    #expect(error?.message.contains("belongs to user 65534") == true)
                }
                if url == location {
                    let error = #expect(throws: FileError.self) {
                        try StagingArea(in: location.path, wasUsed: false, owner)
                    }
                    #expect(error?.code == .permissionDenied)
                }
                #expect(chown(url.path, geteuid(), getegid()) == 0)
            }
        }
    }

    @Test("below one that others can write to needs its sticky bit", arguments: [0o777, 0o770, 0o1777, 0o1770, 0o755])
    func shared(_ mode: Int) async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            try FileManager.default.createDirectory(at: location, withIntermediateDirectories: false)
            try setMode(mode, location)
            let owner = try StagingOwner(of: store)
            if [0o777, 0o770].contains(mode) {
                let error = #expect(throws: FileError.self) {
                    try StagingArea(in: location.path, wasUsed: false, owner)
                }
                #expect(error?.code == .permissionDenied)
                #expect(error?.message.contains("chmod") == true)
            } else {
                _ = try StagingArea(in: location.path, wasUsed: false, owner)
                #expect(try names(in: location) == [Self.databaseID])
            }
        }
    }

    @Test(
        "is made beside the one of another user who was first to take its name",
        .enabled(if: geteuid() == 0, "needs root to give one away"))
    func nameTaken() async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let planted = location.child(Self.databaseID)
            try FileManager.default.createDirectory(at: planted, withIntermediateDirectories: true)
            try setMode(0o1777, location)
            #expect(chown(planted.path, 65_534, 65_534) == 0)
            let area = try StagingArea(in: location.path, wasUsed: false, StagingOwner(of: store))
            #expect(area.path != planted.path)
            #expect(try names(in: planted) == [])
        }
    }

    @Test("is gone on with when its making was cut off", arguments: ["", "{\"databaseID\":", nil])
    func cutOff(_ text: String?) async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let area = location.child(Self.databaseID)
            try FileManager.default.createDirectory(at: area, withIntermediateDirectories: true)
            try Data().write(to: area.child("staging.lock"))
            if let text { try Data(text.utf8).write(to: area.child("staging.json")) }
            let owner = try StagingOwner(of: store)
            #expect(try StagingArea(in: location.path, wasUsed: false, owner).path == area.path)
            #expect(try names(in: area) == ["staging.json", "staging.lock"])
            guard case .own = StagingPlace.look(at: area.path, owner) else {
                Issue.record("It is not taken for this database's.")
                return
            }
        }
    }

    @Test("is not taken from who makes it at the moment, nor when there is something in it", arguments: [true, false])
    func notNew(_ isHeld: Bool) async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let planted = location.child(Self.databaseID)
            try FileManager.default.createDirectory(at: planted, withIntermediateDirectories: true)
            let lock = try FileLock(
                Directory.open(planted.path).openOrCreate(isHeld ? "staging.lock" : "notes.txt"))
            #expect(try lock.tryLock(.exclusive))
            let area = try StagingArea(in: location.path, wasUsed: false, StagingOwner(of: store))
            #expect(area.path != planted.path)
            #expect(try names(in: planted) == [isHeld ? "staging.lock" : "notes.txt"])
            try lock.unlock()
        }
    }

    @Test("is for its owner only, and so is each file in it, whatever the umask takes")
    func mask() async throws {
        // The umask is the whole process's.
        await #expect(processExitsWith: .success) {
            try await withTemporaryFolder { folder in
                umask(0o177)
                let directory = try Directory.openOrMake(folder.child("own").path)
                _ = try directory.openOrMake("below").create("file")
                let made = ["own", "own/below", "own/below/file"].map(folder.child)
                let modes = try made.map(permissions)
                umask(0o022)
                guard modes == [0o700, 0o700, 0o600] else { exit(1) }
            }
        }
    }

    @Test(
        "has no links in the place of its folders and locks", arguments: ["incoming", "attached.lock", "uploader.lock"])
    func links(_ name: String) async throws {
        try await withStore { store, folder in
            let (own, other) = (URL(fileURLWithPath: store.path).child(name), folder.child("other"))
            try FileManager.default.moveItem(at: own, to: other)
            try FileManager.default.createSymbolicLink(at: own, withDestinationURL: other)
            var error = #expect(throws: FileError.self) {
                try LocalStore(at: store.path, databaseID: Self.databaseID)
            }
            #expect(error?.code == .wrongStore)
            #expect(error?.message.contains(own.path) == true)
            guard name != "incoming" else { return }
            try FileManager.default.removeItem(at: own)
            try FileManager.default.linkItem(at: other, to: own)
            error = #expect(throws: FileError.self) { try LocalStore(at: store.path, databaseID: Self.databaseID) }
            #expect(error?.code == .wrongStore)
        }
    }

    @Test("has no link in the place of its quarantine")
    func quarantine() async throws {
        try await withStore { store, folder in
            let id = FileID.make()
            let file = URL(fileURLWithPath: store.path(of: id))
            try Data([1]).write(to: file)
            let other = folder.child("other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                at: URL(fileURLWithPath: store.path).child("quarantine"), withDestinationURL: other)
            let status = try #require(try store.status(of: id))
            #expect(throws: FileError.self) { try store.quarantine(id, examined: status) }
            #expect(try names(in: other) == [])
            #expect(try store.contains(id))
        }
    }
}
