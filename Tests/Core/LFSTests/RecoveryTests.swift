import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Recovery after a crash", .timeLimit(.minutes(10)))
struct RecoveryTests {
    /// Simulates a process that dies. The manager is never started, and closing it releases its open lock.
    private func leave(_ host: TestHost, options: LFSOptions? = nil, commits: Bool) async throws -> FileData {
        let lfs = try await LFSManager.open(host.database, options: options ?? host.options)
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        if commits { try await host.database.write { try file.insert($0) } }
        try await lfs.stop()
        return file
    }

    @Test("A committed file that was not promoted is promoted by the next open and uploaded")
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
            let file = try await leave(host, options: options, commits: true)
            #expect(try host.filesInTemporary().isEmpty)
            try await withManager(host) { lfs in
                try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
                #expect(try host.filesInStore() == [file.id])
            }
        }
    }

    @Test(
        "A persistence location may be on another file system", .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func locationOnOtherFileSystem() async throws {
        let location = try #require(otherFileSystem)
        let shm = location.appendingPathComponent("lfs-\(UUID())")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: shm) } }
        try await withLFS(configure: { $0.persistenceLocation = shm }) { host, lfs in
            let bytes = someBytes(500_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            #expect(try await read(file, lfs: lfs) == bytes)
            // The upload did not wait for the copy into the store.
            try await yield(while: host.filesInStore() != [file.id])
            #expect(try await read(file, lfs: lfs) == bytes)
            // The original is deleted after the file has its name in the store.
            try await yield(
                while: FileManager.default.subpathsOfDirectory(atPath: shm.path)
                    .contains { $0.hasSuffix(file.id.uuidString) })
        }
    }

    @Test("A file without a row is deleted after the grace period")
    func sweep() async throws {
        try await withHost { host in
            let file = try await leave(host, commits: false)
            var options = host.options
            options.temporaryFileGracePeriod = .seconds(3_600)
            try await withManager(host, options: options, starts: false) { _ in
                try #expect(host.filesInTemporary() == [file.id])
            }
            options.wallClock = { Date(timeIntervalSinceNow: -10 * 365 * 86_400) }
            try await withManager(host, options: options, starts: false) { _ in
                try #expect(host.filesInTemporary() == [file.id])
            }
            options.wallClock = { Date(timeIntervalSinceNow: 3_700) }
            try await withManager(host, options: options, starts: false) { _ in
                try #expect(host.filesInTemporary().isEmpty)
            }
        }
    }

    @Test("No staged file is deleted while another manager has the database open")
    func sweepWaitsForOthers() async throws {
        try await withHost { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            let other = try host.otherDatabase()
            try await withManager(host, options: options, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await withManager(host, options: options, on: other, starts: false) { _ in
                    try #expect(host.filesInTemporary() == [file.id])
                }
                try await host.database.write { try file.insert($0) }
            }
            try other.close()
        }
    }

    @Test("A file in the store without a row is kept locally and on the storage")
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
            // A power failure may undo the row's commit, and so may restoring a backup.
            try await host.database.write { db in
                try db.execute(sql: "DELETE FROM lfs_file; DELETE FROM lfs_tombstone")
            }
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options: options) { lfs in
                let next = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try next.insert($0) }
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
            }
            #expect(try host.filesInStore().contains(try #require(file).id))
            #expect(storage.keys.count == 2)
        }
    }

    @Test("A database that was restored from an older copy deletes no unknown file")
    func restoredDatabase() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options: options) { _ in }
            let backup = host.folder.appendingPathComponent("backup.sqlite").path
            try host.database.backup(to: DatabaseQueue(path: backup))
            try await withManager(host, options: options) { lfs in
                let made = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try made.insert($0) }
                try await lfs.waitForUploads()
            }
            try DatabaseQueue(path: backup).backup(to: host.database)
            #expect(try host.count("lfs_file") == 0)
            for _ in 0..<2 {
                try await withManager(host, options: options) { lfs in
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

    @Test("A job that is far in the future because the clock was set back is due")
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
