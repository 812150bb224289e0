import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Stores of erased databases", .timeLimit(.minutes(10)))
struct ForeignStoreTests {
    /// Uploads a file and then erases the database, as GRDB does when the schema changes.
    private func erase(_ host: TestHost) async throws -> FileID {
        var id: FileID?
        try await withManager(host) { lfs in
            let file = try await lfs.makeFile(from: .bytes([1, 2, 3]))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            id = file.id
        }
        try await host.database.erase()
        try TestHost.migrator.migrate(host.database)
        return try #require(id)
    }

    private func foldersAside(_ host: TestHost) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: host.folder.path)
        return names.filter { $0.contains(".lfs.of-") }.sorted()
    }

    @Test("A store of an erased database is refused by default")
    func refused() async throws {
        try await withHost { host in
            _ = try await erase(host)
            #expect(await errorCode { try await withManager(host) { _ in } } == .wrongStore)
            #expect(try foldersAside(host).isEmpty)
        }
    }

    @Test("A foreign store is moved aside with its files, and the new database works")
    func movedAside() async throws {
        try await withHost { host in
            var options = host.options
            options.foreignStore = .moveAside
            for count in 1...3 {
                let id = try await erase(host)
                try await withManager(host, options: options) { lfs in
                    let file = try await lfs.makeFile(from: .bytes([4]))
                    try await host.database.write { try file.insert($0) }
                    try await lfs.waitForUploads()
                    #expect(try await lfs.data(of: file) == Data([4]))
                }
                let aside = try foldersAside(host)
                #expect(aside.count == count)
                let kept = aside.map { host.folder.appendingPathComponent("\($0)/\(id.uuidString)").path }
                #expect(kept.contains(where: FileManager.default.fileExists(atPath:)))
                // The next round starts with an erased database and without a store.
                try await host.database.erase()
                try TestHost.migrator.migrate(host.database)
                try FileManager.default.removeItem(at: host.store)
            }
        }
    }

    @Test("A foreign store behind a link is not moved")
    func link() async throws {
        try await withHost { host in
            _ = try await erase(host)
            let elsewhere = host.folder.appendingPathComponent("elsewhere")
            try FileManager.default.moveItem(at: host.store, to: elsewhere)
            try FileManager.default.createSymbolicLink(at: host.store, withDestinationURL: elsewhere)
            var options = host.options
            options.foreignStore = .moveAside
            #expect(await errorCode { try await withManager(host, options: options) { _ in } } == .wrongStore)
            #expect(try foldersAside(host).isEmpty)
        }
    }

    @Test("A foreign store that is open or has an unreadable marker is not moved")
    func inUse() async throws {
        try await withHost { host in
            var options = host.options
            options.foreignStore = .moveAside
            try await withHost { other in
                options.localStore = other.store
                try await withManager(other) { _ in
                    #expect(await errorCode { try await withManager(host, options: options) { _ in } } == .wrongStore)
                }
                let marker = other.store.appendingPathComponent("lfs.json")
                try Data("{\"something\": 1}".utf8).write(to: marker)
                #expect(await errorCode { try await withManager(host, options: options) { _ in } } == .wrongStore)
                #expect(FileManager.default.fileExists(atPath: marker.path))
                #expect(try foldersAside(other).isEmpty)
            }
        }
    }
}
