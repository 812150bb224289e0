import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Going on after a crash", .timeLimit(.minutes(10)))
struct RecoveryTests {
    /// A process that dies: the manager is never started and its open lock is given up by closing.
    private func leave(_ host: TestHost, _ options: LFSOptions? = nil, commits: Bool) async throws -> FileData {
        let lfs = try await LFSManager.open(host.database, options: options ?? host.options)
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        if commits { try await host.database.write { try file.insert($0) } }
        try await lfs.stop()
        return file
    }

    @Test("A file between commit and promotion is promoted by the next open and then uploaded")
    func promotion() async throws {
        try await withHost { host in
            let file = try await leave(host, commits: true)
            #expect(try host.filesInTemporary() == [file.id])
            try await withManager(host, starts: false) { _ in
                try #expect(host.filesInStore() == [file.id])
                try #expect(host.filesInTemporary().isEmpty)
            }
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("A file in another persistence location is found without the option")
    func otherLocation() async throws {
        try await withHost { host in
            var options = host.options
            options.persistenceLocation = host.folder.appendingPathComponent("elsewhere")
            let file = try await leave(host, options, commits: true)
            #expect(try host.filesInTemporary().isEmpty)
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
                #expect(try host.filesInStore() == [file.id])
            }
        }
    }

    @Test("A persistence location on another file system works", .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func locationOnOtherFileSystem() async throws {
        let location = try #require(otherFileSystem)
        let shm = location.appendingPathComponent("lfs-\(UUID())")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: shm) } }
        try await withLFS(configure: { $0.persistenceLocation = shm }) { host, lfs in
            let bytes = someBytes(500_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            #expect(try await read(file, lfs) == bytes)
            // The upload did not wait for the copy into the store.
            try await yield(while: host.filesInStore() != [file.id])
            #expect(try await read(file, lfs) == bytes)
            // Its original goes right after it has its name in the store.
            try await yield(
                while: FileManager.default.subpathsOfDirectory(atPath: shm.path)
                    .contains { $0.hasSuffix(file.id.uuidString) })
        }
    }

    @Test("A file that no row claims stays within the grace period and goes after it")
    func sweep() async throws {
        try await withHost { host in
            let file = try await leave(host, commits: false)
            var options = host.options
            options.temporaryFileGracePeriod = .seconds(3_600)
            try await withManager(host, options, starts: false) { _ in try #expect(host.filesInTemporary() == [file.id])
            }
            options.wallClock = { Date(timeIntervalSinceNow: -10 * 365 * 86_400) }
            try await withManager(host, options, starts: false) { _ in try #expect(host.filesInTemporary() == [file.id])
            }
            options.wallClock = { Date(timeIntervalSinceNow: 3_700) }
            try await withManager(host, options, starts: false) { _ in try #expect(host.filesInTemporary().isEmpty) }
        }
    }

    @Test("Nothing is swept while another manager has the database open")
    func sweepWaitsForOthers() async throws {
        try await withHost { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            let other = try host.otherDatabase()
            try await withManager(host, options, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await withManager(host, options, on: other, starts: false) { _ in
                    try #expect(host.filesInTemporary() == [file.id])
                }
                try await host.database.write { try file.insert($0) }
            }
            try other.close()
        }
    }

    @Test("A file in the store that has no row stays here and on the storage, whatever its age")
    func orphanInStore() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            var file: FileData?
            try await withManager(host) { lfs in
                let made = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try made.insert($0) }
                try await lfs.waitForUploads()
                file = made
            }
            // A power cut may take back the row; so does a backup that is put back.
            try await host.database.write { db in
                try db.execute(sql: "DELETE FROM lfs_file; DELETE FROM lfs_tombstone")
            }
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options) { lfs in
                let next = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try next.insert($0) }
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
            }
            #expect(try host.filesInStore().contains(try #require(file).id))
            #expect(storage.keys.count == 2)
        }
    }

    @Test("A database that was restored from an older copy sweeps nothing that it cannot know")
    func restoredDatabase() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options) { _ in }
            let backup = host.folder.appendingPathComponent("backup.sqlite").path
            try host.database.backup(to: DatabaseQueue(path: backup))
            try await withManager(host, options) { lfs in
                let made = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try made.insert($0) }
                try await lfs.waitForUploads()
            }
            try DatabaseQueue(path: backup).backup(to: host.database)
            #expect(try host.count("lfs_file") == 0)
            for _ in 0..<2 {
                try await withManager(host, options) { lfs in
                    let sign = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try sign.insert($0) }
                    try await lfs.waitForUploads()
                    try await lfs.waitForDeletions()
                }
            }
            #expect(storage.keys.count == 3)
            #expect(try host.filesInStore().count == 3)
        }
    }

    @Test("Jobs whose time a clock set back has moved out of reach are due")
    func clockSetBack() async throws {
        try await withHost { host in
            let file = try await leave(host, commits: true)
            try await host.database.write { db in
                try db.execute(sql: "UPDATE lfs_job SET notBefore = notBefore + 315360000000")
            }
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
            }
        }
    }
}
