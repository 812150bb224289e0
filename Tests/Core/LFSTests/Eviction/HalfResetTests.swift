import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@testable import LFS
@testable import LFSFiles

@Suite("Interrupted resets", .timeLimit(.minutes(10)))
struct HalfResetTests {
    /// Returns the files of a database that was reset and has no rows. Their two copies and objects still exist.
    private func half(_ host: TestHost) async throws -> [FileData] {
        let lfs = try await LFSManager.open(host.database, options: host.options)
        try lfs.start()
        let files = try await keptFiles(2, host: host, lfs: lfs)
        try await lfs.stop()
        try await host.database.write { db in
            try db.execute(sql: "DELETE FROM lfs_file; DELETE FROM lfs_tombstone; UPDATE lfs_state SET isResetting = 1")
        }
        return files
    }

    private func otherStore(_ host: TestHost) throws -> LocalStore {
        let id = try host.database.read { try String.fetchOne($0, sql: "SELECT databaseID FROM lfs_state") }
        return try LocalStore(at: host.store.path, databaseID: try #require(id), generation: 1)
    }

    @Test("An interrupted reset is completed by an open that is alone and refused otherwise")
    func openElsewhere() async throws {
        try await withHost { host in
            let files = try await half(host)
            let other = try otherStore(host)
            #expect(try other.openLock.tryLock(.shared))
            let code = await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
            #expect(code == .openElsewhere)
            try #expect(host.filesInStore() == Set(files.map(\.id)))
            try #expect(host.count("lfs_state WHERE isResetting = 1") == 1)
            try other.openLock.unlock()
            try await withManager(host) { _ in
                try #expect(host.filesInStore() == [])
                try #expect(host.count("lfs_state WHERE isResetting = 0") == 1)
            }
        }
    }

    @Test("A process that waited for the lock of a dying one can complete its reset")
    func waited() async throws {
        try await withHost { host in
            _ = try await half(host)
            let (dying, waiting) = (try otherStore(host), try otherStore(host))
            #expect(try dying.openLock.tryLock(.shared))
            let isAlone = try await OpenLock.take(waiting.openLock) {
                try dying.openLock.unlock()
                return true
            }
            #expect(isAlone)
            #expect(try dying.openLock.tryLock(.shared) == false)
        }
    }

    @Test("An interrupted reset deletes no orphaned objects")
    func burial() async throws {
        try await withHost { host in
            let files = try await half(host)
            try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET isResetting = 0") }
            try await withManager(host, starts: false) { lfs in
                try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET sweepsFrom = 0") }
                let orphans = Orphans(runner: lfs.runner)
                let age = try await orphans.age(.zero, now: Date())
                try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET isResetting = 1") }
                let resetting = try await orphans.age(.zero, now: Date())
                for age in [age, resetting] {
                    try await #expect(orphans.remove(files[0].id, age: age, namespace: lfs.namespace) == nil)
                }
                try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET isResetting = 0") }
                try await orphans.doubtAllUntilNow(Date())
                try await #expect(orphans.remove(files[0].id, age: age, namespace: lfs.namespace) == nil)
                let later = try await orphans.age(.zero, now: Date())
                try await #expect(orphans.remove(files[0].id, age: later, namespace: lfs.namespace) == true)
            }
        }
    }

    @Test("A reset and every open leave folders in place of files alone")
    func folders() async throws {
        try await withHost { host in
            _ = try await half(host)
            let id = "01000000-0000-7000-8000-000000000001"
            let folders = [host.incoming, host.temporary, host.store].map { $0.appendingPathComponent(id) }
            for folder in folders {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                try Data("mine".utf8).write(to: folder.appendingPathComponent("a.txt"))
            }
            for _ in 0..<2 { try await withManager(host) { _ in } }
            try #expect(host.count("lfs_state WHERE isResetting = 0") == 1)
            for folder in folders {
                #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.txt").path))
            }
        }
    }
}
