import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Folder safety", .timeLimit(.minutes(10)))
struct OwnFolderTests {
    private static let databaseID = "01a20076-3bbf-7fbb-bdd9-8003ed0c16b4"

    private func withStore(_ body: (LocalStore, URL) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try body(LocalStore(at: folder.child("app.lfs").path, databaseID: Self.databaseID), folder)
        }
    }

    private func setMode(_ mode: Int, url: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    }

    @Test(
        "Folders of other users are refused even for root", .enabled(if: geteuid() == 0, "needs root to give one away"))
    func owner() async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let owner = try StagingOwner(of: store)
            let area = try StagingArea(in: location.path, wasUsed: false, owner)
            for (url, isArea) in [(URL(fileURLWithPath: store.path), false), (area.url, true), (location, true)] {
                #expect(chown(url.path, 65_534, 65_534) == 0)
                if isArea {
                    guard case .closed(let place) = StagingPlace.look(at: area.path, owner) else {
                        Issue.record("\(url.path) was not refused.")
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

    @Test("A directory that others can write to needs a sticky bit", arguments: [0o777, 0o770, 0o1777, 0o1770, 0o755])
    func shared(_ mode: Int) async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            try FileManager.default.createDirectory(at: location, withIntermediateDirectories: false)
            try setMode(mode, url: location)
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
        "A staging area gets another name if another user's folder has its name",
        .enabled(if: geteuid() == 0, "needs root to give one away"))
    func nameTaken() async throws {
        try await withStore { store, folder in
            let location = folder.child("location")
            let planted = location.child(Self.databaseID)
            try FileManager.default.createDirectory(at: planted, withIntermediateDirectories: true)
            try setMode(0o1777, url: location)
            #expect(chown(planted.path, 65_534, 65_534) == 0)
            let area = try StagingArea(in: location.path, wasUsed: false, StagingOwner(of: store))
            #expect(area.path != planted.path)
            #expect(try names(in: planted) == [])
        }
    }

    @Test("A staging area whose creation was interrupted is completed", arguments: ["", "{\"databaseID\":", nil])
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
                Issue.record("The folder was not refused.")
                return
            }
        }
    }

    @Test("A folder that is not empty or is being created is not taken over", arguments: [true, false])
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

    @Test("Folders and files are private to their owner, whatever the umask is")
    func mask() async throws {
        // The umask applies to the whole process.
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
        "A store refuses links as its folders and locks", arguments: ["incoming", "attached.lock", "uploader.lock"])
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

    @Test("A store refuses a link in place of its quarantine")
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
