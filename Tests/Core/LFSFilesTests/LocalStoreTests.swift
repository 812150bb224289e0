import Foundation
import TestSupport
import Testing

@testable import LFSFiles
@testable import LFSSystem

@Suite("Local store", .timeLimit(.minutes(10)))
struct LocalStoreTests {
    private let content = SampleBytes.make(FileCopy.chunkSize + 9)

    private func ingest(into area: StagingArea) async throws -> FileID {
        try await area.ingest(.bytes(content), as: FileID.make()).id
    }

    private func withStore(
        areaIn parent: URL? = nil, _ body: (LocalStore, StagingArea) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            try await withTemporaryFolder(in: parent ?? folder) { other in
                let store = try LocalStore(at: folder.child("app.sqlite.lfs").path, databaseID: "one")
                try await body(store, try StagingArea(at: other.child("area").path))
            }
        }
    }

    private func requirePromoted(_ id: FileID, store: LocalStore, area: StagingArea) throws {
        let file = URL(fileURLWithPath: store.path(of: id))
        #expect(try Data(contentsOf: file) == Data(content))
        #expect(try permissions(of: file) == 0o400)
        #expect(try names(in: area.url) == [])
        #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        #expect(try store.contains(id))
    }

    @Test("Promoting a file renames it into the store once")
    func promote() async throws {
        try await withStore { store, area in
            let id = try await ingest(into: area)
            let before = try inode(of: area.url.child(id.text))
            #expect(try store.promote(id, from: area) == .promoted)
            #expect(try inode(of: URL(fileURLWithPath: store.path(of: id))) == before)
            try requirePromoted(id, store: store, area: area)
            #expect(try store.promote(id, from: area) == .alreadyThere)
            #expect(try store.promote(FileID.make(), from: area) == .missing)
        }
    }

    @Test(
        "Promoting a file from another file system copies it", .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func promoteByCopy() async throws {
        try await withStore(areaIn: otherFileSystem) { store, area in
            let id = try await ingest(into: area)
            #expect(try store.promote(id, from: area) == .promoted)
            try requirePromoted(id, store: store, area: area)
            #expect(try store.promote(id, from: area) == .alreadyThere)
            #expect(try store.promote(FileID.make(), from: area) == .missing)
        }
    }

    @Test(
        "A file that is deleted while it is promoted leaves nothing",
        .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func deletionDuringCopy() async throws {
        try await withStore(areaIn: otherFileSystem) { store, area in
            for round in 0..<200 {
                let id = try await ingest(into: area)
                async let promotion = BlockingPool.shared.run { _ in try store.promote(id, from: area) }
                // The rounds delete at moments from before the copy to after it.
                for _ in 0..<round { await Task.yield() }
                try await BlockingPool.shared.run { _ in
                    try area.clear(id)
                    try store.removeCopies(id)
                    try store.clear(id)
                }
                _ = try await promotion
                #expect(try !store.contains(id), "round \(round)")
                #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
                #expect(try names(in: area.url) == [])
            }
        }
    }

    @Test("A file that a crash left in both places is promoted", .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func inBothPlaces() async throws {
        try await withStore(areaIn: otherFileSystem) { store, area in
            let id = try await ingest(into: area)
            try Data(content).write(to: URL(fileURLWithPath: store.path(of: id)))
            #expect(try store.promote(id, from: area) == .promoted)
            try requirePromoted(id, store: store, area: area)
        }
    }

    #if os(Linux)
    @Test(
        "A staged file is kept until its copy in the store is durable",
        .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func copyNotDurable() async throws {
        try await withStore(areaIn: otherFileSystem) { store, area in
            let id = try await ingest(into: area)
            try store.directory.withDescriptor { folder throws(SystemError) in try breakSync(of: folder) }
            // The first promotion gives the copy its name. The second one finds it there.
            for _ in 1...2 {
                #expect(throws: SystemError.self) { try store.promote(id, from: area) }
                #expect(try store.contains(id) && area.contains(id))
            }
            let reopened = try LocalStore(at: store.path, databaseID: "one")
            #expect(try reopened.promote(id, from: area) == .promoted)
            try requirePromoted(id, store: reopened, area: area)
        }
    }
    #endif

    @Test("Promoting keeps the store's file if other bytes have the same name", arguments: [false, true])
    func keepsWhatItHas(_ isOnOtherFileSystem: Bool) async throws {
        try await withStore(areaIn: isOnOtherFileSystem ? otherFileSystem : nil) { store, area in
            let id = try await ingest(into: area)
            let restored = Data("restored meanwhile".utf8)
            try restored.write(to: URL(fileURLWithPath: store.path(of: id)))
            #expect(try store.promote(id, from: area) == .alreadyThere)
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == restored)
            #expect(try area.contains(id))
        }
    }

    @Test("Concurrent promotions of one file promote it once", arguments: [false, true])
    func promoteTogether(_ isOnOtherFileSystem: Bool) async throws {
        try await withStore(areaIn: isOnOtherFileSystem ? otherFileSystem : nil) { store, area in
            for _ in 0..<100 {
                let id = try await ingest(into: area)
                let results = try await withThrowingTaskGroup(of: LocalStore.Promotion.self) { group in
                    for _ in 1...8 {
                        group.addTask { try await BlockingPool.shared.run { _ in try store.promote(id, from: area) } }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results.count { $0 == .promoted } == 1)
                #expect(results.count { $0 == .alreadyThere } == 7)
                try requirePromoted(id, store: store, area: area)
            }
        }
    }

    @Test("A full store leaves a file in its staging area", .enabled(if: Machine.canMount, "needs root to mount"))
    func fullDisk() async throws {
        try await withSmallFileSystem(kilobytes: 128) { disk in
            try await withArea { area, _ in
                let store = try LocalStore(at: disk.child("app.lfs").path, databaseID: "one")
                let id = try await ingest(into: area)
                let error = #expect(throws: SystemError.self) { try store.promote(id, from: area) }
                #expect(error?.isNoSpace == true)
                #expect(try area.contains(id) && !store.contains(id))
                #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
            }
        }
    }

    @Test("A store is private to its owner and refuses folders that others can write to", arguments: [0o770, 0o702])
    func modes(_ mode: Int) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.lfs")
            _ = try LocalStore(at: path.path, databaseID: "one")
            #expect(try permissions(of: path) == 0o700)
            #expect(try permissions(of: path.child("incoming")) == 0o700)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path.path)
            for error in [
                #expect(throws: FileError.self) { try LocalStore(at: path.path, databaseID: "one") },
                #expect(throws: FileError.self) { try StagingArea(at: path.path) },
            ] {
                #expect(error?.code == .permissionDenied)
                #expect(error?.message.contains("chmod 700") == true)
            }
        }
    }

    @Test("A store belongs to one database")
    func marker() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.lfs")
            _ = try LocalStore(at: path.path, databaseID: "one")
            _ = try LocalStore(at: path.path, databaseID: "one")
            let error = #expect(throws: FileError.self) { try LocalStore(at: path.path, databaseID: "two") }
            #expect(error?.code == .wrongStore)
            #expect(error?.message.contains("another database") == true)
        }
    }

    @Test(
        "A store refuses a marker that is unreadable or newer",
        arguments: ["{}", "[]", "{\"databaseID\":\"one\",\"layout\":99}", String(repeating: " ", count: 5_000)])
    func oddMarker(_ text: String) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.lfs")
            _ = try LocalStore(at: path.path, databaseID: "one")
            try Data(text.utf8).write(to: path.child("lfs.json"))
            let error = #expect(throws: FileError.self) { try LocalStore(at: path.path, databaseID: "one") }
            #expect(error?.code == .wrongStore)
        }
    }

    @Test("One process at a time can lock a store for uploads or open it exclusively")
    func locks() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("app.lfs").path
            let first = try LocalStore(at: path, databaseID: "one")
            var second: LocalStore? = try LocalStore(at: path, databaseID: "one")
            #expect(try first.uploaderLock.tryLock(.exclusive))
            #expect(try second?.uploaderLock.tryLock(.exclusive) == false)
            #expect(try first.openLock.tryLock(.shared))
            #expect(try second?.openLock.tryLock(.shared) == true)
            #expect(try !first.openLock.tryLock(.exclusive))
            second = nil
            #expect(try first.openLock.tryLock(.exclusive), "a lock ends with its holder")
        }
    }

    @Test("A store lists its files page by page")
    func files() async throws {
        try await withStore { store, area in
            var ids: Set<FileID> = []
            for _ in 1...7 {
                let id = try await ingest(into: area)
                #expect(try store.promote(id, from: area) == .promoted)
                ids.insert(id)
            }
            let cursor = try store.files()
            var found: [FileID] = []
            while let page = try cursor.next(limit: 3) { found += page.map(\.id) }
            #expect(Set(found) == ids && found.count == ids.count)
        }
    }
}
