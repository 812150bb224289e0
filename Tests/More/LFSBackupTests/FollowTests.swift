#if os(Linux)
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import LFSBackup

@Suite("Followed folders", .timeLimit(.minutes(10)))
struct FollowTests {
    /// A followed folder after its first walk.
    private struct Followed: Sendable {
        let folder: URL
        let follower: FolderFollower
        let clock: ManualClock
        let notes: Heard<FollowNote>

        func write(_ name: String, text: String = "x") throws {
            let url = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }

        func rename(_ name: String, to other: String) {
            #expect(Glibc.rename(folder.path + "/" + name, folder.path + "/" + other) == 0)
        }

        /// Returns the files of a batch, relative to the folder.
        func files(_ batch: FollowBatch) throws -> Set<String> {
            var walk = try batch.source.makeWalk()
            var files: Set<String> = []
            while let item = walk.next() {
                if case .asset(let asset) = item {
                    files.insert(String(asset.id.description.dropFirst(folder.path.count + 1)))
                }
            }
            return files
        }

        /// Returns the files of the next batches, until all wanted files were among them.
        func next(_ wanted: Set<String>) async throws -> Set<String> {
            async let _: Void = clock.runFreely()
            var files: Set<String> = []
            while !files.isSuperset(of: wanted) { files.formUnion(try self.files(try await follower.next())) }
            return files
        }
    }

    /// Makes a folder nonempty. An empty folder is checked periodically, because a disk may be mounted there.
    private static func notEmpty(_ folder: URL) throws {
        try Data().write(to: folder.appendingPathComponent("there"))
    }

    private func following(
        _ groups: [String] = ["."], where filter: PathFilter = PathFilter(), rescan: Duration? = nil,
        prepare: (URL) throws -> Void = { _ in }, _ body: (Followed) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("lfs-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try prepare(folder)
        let (clock, notes) = (ManualClock(), Heard<FollowNote>())
        var options = FollowOptions()
        options.clock = clock
        options.rescan = rescan
        let source = FolderSource(groups.map { BackupGroup($0, mode: .include) }, from: folder.path, where: filter)
        let follower = FolderFollower(source, options: options) { notes.add($0) }
        let followed = Followed(folder: folder, follower: follower, clock: clock, notes: notes)
        let first = try await follower.next()
        #expect(first.count == nil)
        _ = try followed.files(first)
        try await body(followed)
    }

    @Test("A file that was closed, moved in or linked arrives once it has settled")
    func written() async throws {
        try await following { folder in
            try Data("x".utf8).write(to: folder.appendingPathComponent("old"))
        } _: { app in
            let handle = FileHandle(
                fileDescriptor: open(app.folder.path + "/open", O_CREAT | O_WRONLY, 0o600), closeOnDealloc: true)
            try handle.write(contentsOf: Data("half".utf8))
            try app.write("closed")
            try app.write("moved.tmp")
            app.rename("moved.tmp", to: "moved")
            #expect(link(app.folder.path + "/old", app.folder.path + "/linked") == 0)
            #expect(try await app.next(["closed", "moved", "linked"]) == ["closed", "moved", "linked"])
            try handle.close()
            #expect(try await app.next(["open"]) == ["open"])
        }
    }

    @Test("New folders are followed with their contents, even after they were moved")
    func folders() async throws {
        try await following(prepare: Self.notEmpty) { app in
            try app.write("new/deep/one")
            #expect(try await app.next(["new/deep/one"]) == ["new/deep/one"])
            try app.write("new/deep/two")
            #expect(try await app.next(["new/deep/two"]) == ["new/deep/two"])
            app.rename("new", to: "other")
            #expect(try await app.next(["other/deep/one"]) == ["other/deep/one", "other/deep/two"])
            try app.write("other/deep/three")
            #expect(try await app.next(["other/deep/three"]) == ["other/deep/three"])
            #expect(app.follower.folderCount == 3)
        }
    }

    @Test(
        "A disk that is mounted at a followed folder is found by the periodic check",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func mounted() async throws {
        func run(_ program: String, arguments: String...) throws {
            #expect(try runTool(program, arguments: arguments), "\(arguments)")
        }
        try await following { app in
            // The system does not report the mount.
            try run("/bin/mount", arguments: "-t", "tmpfs", "none", app.folder.path)
            do {
                try app.write("on-disk")
                let next = Task { try await app.follower.next() }
                await app.clock.waitForSleepers()
                app.clock.advance(by: FollowOptions.usualRescan)
                let batch = try await next.value
                #expect(batch.count == nil)
                #expect(try app.files(batch) == ["on-disk"])
                // The system reports changes after this point.
                try app.write("later")
                #expect(try await app.next(["later"]) == ["later"])
            } catch { Issue.record(error) }
            try run("/bin/umount", arguments: app.folder.path)
        }
    }

    @Test("Files that vanish early and files that the filter excludes make no batch")
    func temporary() async throws {
        let filter = PathFilter(including: [], excluding: [try PathPattern("*.tmp"), try PathPattern("cache/")])
        try await following(where: filter) { folder in
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("cache"), withIntermediateDirectories: false)
        } _: { app in
            #expect(app.follower.folderCount == 1)
            try app.write("a.tmp")
            try app.write("cache/b")
            try app.write("short")
            try FileManager.default.removeItem(at: app.folder.appendingPathComponent("short"))
            try app.write("last")
            async let _: Void = app.clock.runFreely()
            let batch = try await app.follower.next()
            #expect(batch.count == 1)
            #expect(try app.files(batch) == ["last"])
        }
    }

    @Test("A file that changes after it was reported settles again")
    func changing() async throws {
        try await following(prepare: Self.notEmpty) { app in
            try app.write("a", text: "one")
            let name = AssetName(app.folder.path + "/a")
            async let next = app.follower.next()
            await app.clock.waitForSleepers()
            // A change without an event: the times of a file.
            #expect(utimes(app.folder.path + "/a", [timeval(), timeval()]) == 0)
            app.clock.advance(by: .seconds(6))
            // The follower may have seen the file before or after the change, so the number of further waits varies.
            async let _: Void = app.clock.runFreely()
            let batch = try await next
            #expect(try app.files(batch) == ["a"])
            // The unchanged file would fail once more. A file with other content may return.
            var walk = try FolderSource([BackupGroup(name.description, mode: .include)]).makeWalk()
            guard case .asset(let asset)? = walk.next() else { return #expect(Bool(false)) }
            #expect(try await !app.follower.putBack(name, seen: asset.stamp))
            #expect(try await app.follower.putBack(name, seen: AssetVersion(byteCount: 1, text: "other")))
            #expect(try await app.next(["a"]) == ["a"])
        }
    }

    @Test("A file that was named itself is followed, and other files of its folder are not")
    func namedFile() async throws {
        try await following(["a.txt"]) { folder in
            try Data("x".utf8).write(to: folder.appendingPathComponent("a.txt"))
        } _: { app in
            try app.write("other")
            try app.write("a.new")
            app.rename("a.new", to: "a.txt")
            #expect(try await app.next(["a.txt"]) == ["a.txt"])
        }
    }

    @Test("A folder that vanishes is reported and found again when it is back")
    func vanished() async throws {
        try await following(["one", "two"]) { folder in
            for name in ["one", "two"] {
                try FileManager.default.createDirectory(
                    at: folder.appendingPathComponent(name), withIntermediateDirectories: false)
            }
        } _: { app in
            app.rename("one", to: "away")
            try app.write("away/a")
            async let files = app.next(["one/a"])
            try await yield(while: app.notes.values.isEmpty)
            #expect(app.notes.values == [.gone(AssetName(app.folder.path + "/one"))])
            app.rename("away", to: "one")
            let found = try await files
            #expect(found.contains("one/a"))
            try app.write("one/b")
            #expect(try await app.next(["one/b"]).contains("one/b"))
        }
    }

    @Test("A named link that changes its target is reported, and the new target is walked")
    func replacedRoot() async throws {
        try await following(
            ["named"],
            prepare: { folder in
                for name in ["one", "two"] {
                    let url = folder.appendingPathComponent(name)
                    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
                    try Data().write(to: url.appendingPathComponent("in-\(name)"))
                }
                try FileManager.default.createSymbolicLink(
                    atPath: folder.path + "/named", withDestinationPath: "one")
            }
        ) { app in
            try FileManager.default.createSymbolicLink(atPath: app.folder.path + "/new", withDestinationPath: "two")
            app.rename("new", to: "named")
            #expect(try await app.next(["named/in-two"]).contains("named/in-two"))
            #expect(app.notes.values == [.replaced(AssetName(app.folder.path + "/named"))])
            try app.write("two/later")
            #expect(try await app.next(["named/later"]).contains("named/later"))
        }
    }

    @Test("A file that failed is in a full walk later, although it has not changed")
    func failedUnchanged() async throws {
        try await following(prepare: Self.notEmpty) { app in
            let name = AssetName(app.folder.path + "/there")
            var walk = try FolderSource([BackupGroup(name.description, mode: .include)]).makeWalk()
            guard case .asset(let asset)? = walk.next() else { throw CocoaError(.fileNoSuchFile) }
            #expect(try await app.follower.putBack(name, seen: asset.stamp) == false)
            async let next = app.follower.next()
            await app.clock.waitForSleepers()
            app.clock.advance(by: FollowOptions.usualRescan)
            // Without the walk, only this file arrives.
            try app.write("new")
            async let _: Void = app.clock.runFreely()
            let batch = try await next
            #expect(batch.count == nil)
            #expect(try app.files(batch).contains("there"))
        }
    }

    @Test("Everything is walked again after the rescan interval")
    func rescan() async throws {
        try await following(rescan: .seconds(60)) { app in
            async let next = app.follower.next()
            await app.clock.waitForSleepers()
            #expect(app.clock.remaining == [.seconds(60)])
            app.clock.advance(by: .seconds(60))
            let batch = try await next
            #expect(batch.count == nil)
        }
    }
}
#endif
