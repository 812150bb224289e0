import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Originals that were moved", .timeLimit(.minutes(10)))
struct MovedOriginalTests {
    /// A folder with the database in one subfolder and the original in another.
    private struct Tree {
        let url: URL
        var app: URL { url.appendingPathComponent("app/data") }
        var photo: URL { url.appendingPathComponent("photos/photo.jpg") }

        func make(_ bytes: [UInt8]) throws {
            let manager = FileManager.default
            try manager.createDirectory(at: app, withIntermediateDirectories: true)
            try manager.createDirectory(at: photo.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: photo)
        }

        func withHost(storage: InMemoryStorage, _ body: (TestHost) async throws -> Void) async throws {
            let database = try TestHost.open(app.appendingPathComponent("recipes.sqlite").path)
            try TestHost.migrator.migrate(database)
            try await body(TestHost(folder: app, database: database, storage: storage))
            try database.close()
        }

        /// Attaches the original without uploading it.
        func attach(storage: InMemoryStorage) async throws {
            try await withHost(storage: storage) { host in
                try await withManager(host, starts: false) { lfs in
                    let file = try await lfs.makeFile(from: .original(photo))
                    try await host.database.write { try file.insert($0) }
                }
            }
        }

        /// Uploads the original, and checks the object.
        func upload(_ bytes: [UInt8], storage: InMemoryStorage) async throws {
            try await withHost(storage: storage) { host in
                try await withManager(host) { lfs in
                    try await lfs.waitForUploads()
                    let file = try #require(try await host.database.read { try FileData.fetchOne($0) })
                    #expect(file.status == .remote)
                    #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
                    #expect(try host.filesInStore().isEmpty)
                    #expect(try await lfs.localURL(of: file)?.path == photo.path)
                }
            }
        }
    }

    @Test("A database that is moved together with its originals finds them")
    func moved() async throws {
        try await withTemporaryFolder { folder in
            let (bytes, storage) = (someBytes(), InMemoryStorage())
            let before = Tree(url: folder.appendingPathComponent("before"))
            try before.make(bytes)
            try await before.attach(storage: storage)
            let after = Tree(url: folder.appendingPathComponent("after"))
            try FileManager.default.moveItem(at: before.url, to: after.url)
            try await after.upload(bytes, storage: storage)
        }
    }

    @Test("A copied database uses the copied originals if the others have changed")
    func copied() async throws {
        try await withTemporaryFolder { folder in
            let (bytes, storage) = (someBytes(), InMemoryStorage())
            let before = Tree(url: folder.appendingPathComponent("before"))
            try before.make(bytes)
            try await before.attach(storage: storage)
            let after = Tree(url: folder.appendingPathComponent("after"))
            try FileManager.default.copyItem(at: before.url, to: after.url)
            try Data(someBytes()).write(to: before.photo)
            try await after.upload(bytes, storage: storage)
        }
    }

    @Test("A database that is moved without its originals finds them")
    func databaseAlone() async throws {
        try await withTemporaryFolder { folder in
            let (bytes, storage) = (someBytes(), InMemoryStorage())
            let before = Tree(url: folder.appendingPathComponent("before"))
            try before.make(bytes)
            try await before.attach(storage: storage)
            let moved = folder.appendingPathComponent("moved")
            try FileManager.default.moveItem(at: before.app, to: moved)
            let database = try TestHost.open(moved.appendingPathComponent("recipes.sqlite").path)
            try await withManager(TestHost(folder: moved, database: database, storage: storage)) { lfs in
                try await lfs.waitForUploads()
                #expect(storage.keys.count == 1)
            }
            try database.close()
        }
    }

    @Test("An original that is absent at both places is reported as moved or deleted")
    func absent() async throws {
        try await withTemporaryFolder { folder in
            let storage = InMemoryStorage()
            let before = Tree(url: folder.appendingPathComponent("before"))
            try before.make(someBytes())
            try await before.attach(storage: storage)
            let after = Tree(url: folder.appendingPathComponent("after"))
            try FileManager.default.moveItem(at: before.url, to: after.url)
            try FileManager.default.removeItem(at: after.photo)
            try await after.withHost(storage: storage) { host in
                try await withManager(host) { lfs in
                    try await lfs.waitForUploads()
                    #expect(try host.count("lfs_job WHERE state = 'failed' AND errorCode = 'sourceChanged'") == 1)
                    #expect(storage.keys.isEmpty)
                }
            }
        }
    }
}
