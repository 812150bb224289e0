import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Ownership of staged files", .timeLimit(.minutes(10)))
struct StagingOwnerTests {
    /// Opens a manager without starting it, so that the file is not promoted, as when a process is killed right after
    /// the commit.
    private func leave(_ host: TestHost, options: LFSOptions, commits: Bool = true) async throws -> FileData {
        var file: FileData?
        try await withManager(host, options: options, starts: false) { lfs in
            let made = try await lfs.makeFile(from: .bytes(someBytes()))
            if commits { try await host.database.write { try made.insert($0) } }
            file = made
        }
        return try #require(file)
    }

    /// Returns options without a grace period, so that unreferenced files are deleted at once.
    private func options(_ host: TestHost, location: URL? = nil) -> LFSOptions {
        var options = host.options
        options.temporaryFileGracePeriod = .zero
        options.persistenceLocation = location
        return options
    }

    /// Returns the ids of the staged files in all folders below a folder.
    private func waiting(below folder: URL) throws -> Set<FileID> {
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.contains("/") }
        return Set(files.compactMap { FileID(($0 as NSString).lastPathComponent) })
    }

    /// Runs a body with a copy of the database and its folder, made as a person would copy them.
    private func withCopy(of host: TestHost, _ body: (TestHost) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let database = try TestHost.open(folder.child("recipes.sqlite").path)
            try host.database.backup(to: database)
            let copy = TestHost(folder: folder, database: database, storage: host.storage)
            try FileManager.default.copyItem(at: host.store, to: copy.store)
            try await body(copy)
            try database.close()
        }
    }

    private func file(in folder: URL) throws -> URL {
        let file = folder.appendingPathComponent("01000000-0000-7000-8000-000000000001")
        try Data([1, 2, 3]).write(to: file)
        return file
    }

    // MARK: Copies

    @Test("A copy of a database deletes nothing that the original has staged", arguments: [true, false])
    func copy(_ namesLocation: Bool) async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            let options = options(host, location: location)
            try await withManager(host, options: options) { _ in }
            try await withCopy(of: host) { copy in
                let file = try await leave(host, options: options)
                for _ in 0..<2 {
                    let copied = self.options(copy, location: namesLocation ? location : nil)
                    try await withManager(copy, options: copied) { lfs in
                        let own = try await lfs.makeFile(from: .bytes(someBytes()))
                        try await copy.database.write { try own.insert($0) }
                        try await lfs.waitForUploads()
                    }
                }
                #expect(try waiting(below: location).contains(file.id))
                try await withManager(host, options: self.options(host)) { lfs in
                    try await lfs.waitForUploads()
                    try #expect(host.file(file.id)?.status == .remote)
                }
            }
        }
    }

    @Test("A moved database finds its staged files and leaves them in the earlier location")
    func moved() async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            let log = EventLog<FileData>()
            try await withManager(host, options: options(host, location: location), starts: false) { lfs in
                for _ in 0..<2 { log.add(try await lfs.makeFile(from: .bytes(someBytes()))) }
                let file = log.events[0]
                try await host.database.write { try file.insert($0) }
            }
            let (file, abandoned) = (log.events[0], log.events[1])
            try await withCopy(of: host) { copy in
                try await withManager(copy, options: options(copy)) { lfs in
                    #expect(try await read(file, lfs: lfs)?.count == 1_000)
                    try await lfs.waitForUploads()
                    try #expect(copy.file(file.id)?.status == .remote)
                    try #expect(copy.filesInStore() == [file.id])
                }
            }
            #expect(try waiting(below: location) == [file.id, abandoned.id])
        }
    }

    @Test(
        "A staged file is copied out of a location that became read-only or full",
        .enabled(if: Machine.canMount, "needs root to mount"),
        arguments: [true, false])
    func unwritable(_ isReadOnly: Bool) async throws {
        try await withHost { host in
            try await withSmallFileSystem(kilobytes: 64) { disk in
                let file = try await leave(host, options: options(host, location: disk))
                let area = disk.appendingPathComponent(try #require(names(in: disk).first))
                if isReadOnly {
                    try #require(try runTool("mount", arguments: ["-o", "remount,ro", disk.path]))
                } else {
                    try FileManager.default.removeItem(at: area.appendingPathComponent("staging.lock"))
                    // The disk has neither a free page nor a free file name.
                    let rest = try Directory.open(area.path).create("rest")
                    let page = [UInt8](repeating: 1, count: 4_096)
                    #expect(throws: SystemError.self) {
                        while true { try page.withUnsafeBytes { try rest.write($0) } }
                    }
                }
                try await withManager(host, options: options(host)) { lfs in
                    try await lfs.waitForUploads()
                    try #expect(host.file(file.id)?.status == .remote)
                    try #expect(host.filesInStore() == [file.id])
                }
                if isReadOnly { #expect(try waiting(below: disk) == [file.id]) }
            }
        }
    }

    @Test("A staged file that was moved into a copied store is promoted and uploaded")
    func adopted() async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            let file = try await leave(host, options: options(host, location: location), commits: false)
            try await withCopy(of: host) { copy in
                let area = location.appendingPathComponent(try #require(names(in: location).first))
                let waiting = area.child(file.id.uuidString)
                try FileManager.default.moveItem(at: waiting, to: copy.temporary.child(file.id.uuidString))
                var options = copy.options
                options.temporaryFileGracePeriod = .seconds(3_600)
                try await withManager(copy, options: options) { lfs in
                    try await copy.database.write { try file.insert($0) }
                    try await lfs.waitForUploads()
                    try #expect(copy.file(file.id)?.status == .remote)
                }
            }
        }
    }

    // MARK: Removal of unreferenced files

    @Test(
        "An uncommitted file is removed from a location, with the option and without",
        arguments: [true, false])
    func sweep(_ namesLocation: Bool) async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            _ = try await leave(host, options: options(host, location: location), commits: false)
            #expect(try waiting(below: location).count == 1)
            try await withManager(host, options: options(host, location: namesLocation ? location : nil), starts: false)
            { _ in
                try #expect(waiting(below: location) == [])
            }
            #expect(try names(in: location).count == 1, "one area is reused")
        }
    }

    @Test("Nothing is removed from a staging area that another process has locked")
    func heldArea() async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            let file = try await leave(host, options: options(host, location: location), commits: false)
            let area = try Directory.open(location.appendingPathComponent(try #require(names(in: location).first)).path)
            let lock = try FileLock(area.openOrCreate("staging.lock"))
            #expect(try lock.tryLock(.shared))
            try await withManager(host, options: options(host, location: location), starts: false) { _ in
                try #expect(waiting(below: location) == [file.id])
            }
            try lock.unlock()
            try await withManager(host, options: options(host, location: location), starts: false) { _ in
                try #expect(waiting(below: location) == [])
            }
        }
    }

    // MARK: Links

    @Test("A link in place of the default staging folder is refused")
    func linkedTemporary() async throws {
        try await withHost { host in
            try await withManager(host) { _ in }
            try await withTemporaryFolder { other in
                let foreign = try file(in: other)
                try FileManager.default.removeItem(at: host.temporary)
                try FileManager.default.createSymbolicLink(at: host.temporary, withDestinationURL: other)
                let code = await errorCode { try await withManager(host, options: options(host)) { _ in } }
                #expect(code == .wrongStore)
                #expect(try Data(contentsOf: foreign) == Data([1, 2, 3]))
            }
        }
    }

    @Test("A link in place of a staging area is not followed", arguments: [true, false])
    func linkedArea(_ namesLocation: Bool) async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            try await withManager(host, options: options(host, location: location)) { _ in }
            try await withTemporaryFolder { other in
                let foreign = try file(in: other)
                let area = location.appendingPathComponent(try #require(names(in: location).first))
                try FileManager.default.removeItem(at: area)
                try FileManager.default.createSymbolicLink(at: area, withDestinationURL: other)
                try await withManager(host, options: options(host, location: namesLocation ? location : nil)) { lfs in
                    let made = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try made.insert($0) }
                    try await lfs.waitForUploads()
                }
                #expect(try names(in: other) == [foreign.lastPathComponent])
                #expect(try Data(contentsOf: foreign) == Data([1, 2, 3]))
            }
        }
    }

    @Test("A link in place of a staged file is left unchanged together with its target", arguments: [true, false])
    func linkedFile(_ isSymbolic: Bool) async throws {
        try await withHost { host in
            let made = try await leave(host, options: options(host))
            let waiting = host.temporary.appendingPathComponent(made.id.uuidString)
            let target = host.folder.appendingPathComponent("diary")
            try FileManager.default.moveItem(at: waiting, to: target)
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: target.path)
            let manager = FileManager.default
            if isSymbolic {
                try manager.createSymbolicLink(at: waiting, withDestinationURL: target)
            } else {
                try manager.linkItem(at: target, to: waiting)
            }
            try await withManager(host, options: options(host), starts: false) { lfs in
                #expect(try permissions(of: target) == 0o640)
                try Data(someBytes()).write(to: target)
                // A file that others can write to by another name is copied. A symbolic link is not promoted.
                #expect(try host.filesInStore() == (isSymbolic ? [] : [made.id]))
            }
            #expect(try permissions(of: target) == 0o640)
        }
    }

    // MARK: Rows

    @Test("A location row with another database's folder gives no access to its files", arguments: [0, 1, 2])
    func foreignRow(_ kind: Int) async throws {
        try await withHost { other in
            let location = other.folder.appendingPathComponent("staging")
            let waiting = try await leave(other, options: options(other, location: location))
            let kept = try await leave(other, options: options(other))
            try await withManager(other, options: options(other), starts: false) { _ in }
            let area = location.appendingPathComponent(try #require(names(in: location).first))
            _ = try file(in: area)
            _ = try file(in: other.temporary)
            try await withHost { host in
                try await withManager(host, options: options(host)) { _ in }
                let path = [area.path, other.store.path, other.temporary.path][kind]
                let before = try FileManager.default.subpathsOfDirectory(atPath: other.folder.path).sorted()
                try await host.database.write { db in
                    try db.execute(sql: "INSERT INTO lfs_location (path) VALUES (?)", arguments: [path])
                    // Inserts the rows as if this database had made the files. Even its own rows give no right to take
                    // them.
                    for id in [waiting.id, kept.id] {
                        try db.execute(
                            sql: """
                                INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                                SELECT ?1, 'local', 1000, ?2, namespace || '/' || ?1, 0 FROM lfs_state
                                """, arguments: [id, String(repeating: "0", count: 64)])
                    }
                }
                try await withManager(host, options: options(host)) { lfs in
                    #expect(await errorCode { _ = try await read(waiting, lfs: lfs) } != nil)
                }
                try #expect(host.filesInStore() == [])
                #expect(try FileManager.default.subpathsOfDirectory(atPath: other.folder.path).sorted() == before)
            }
        }
    }

    @Test(
        "An invalid database id is refused before a folder is created with it",
        arguments: ["../outside", "", "a/b", "..", String(repeating: "i", count: 5_000)])
    func oddDatabaseID(_ id: String) async throws {
        try await withHost { host in
            let location = host.folder.appendingPathComponent("staging")
            try await host.database.write { db in
                try db.execute(sql: "UPDATE lfs_state SET databaseID = ?", arguments: [id])
            }
            let before = try names(in: host.folder)
            let code = await errorCode {
                try await withManager(host, options: options(host, location: location)) { _ in }
            }
            #expect(code == .wrongStore)
            #expect(try names(in: host.folder) == before)
        }
    }
}
