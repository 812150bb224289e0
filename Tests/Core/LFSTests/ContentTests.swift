import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSTesting
import Testing

/// Tests with recipes that own their photos and may share one.
@Suite("Reuse of equal content", .timeLimit(.minutes(10)))
struct ContentTests {
    @Test("Equal bytes are uploaded once, and the file stays as long as a record has it")
    func once() async throws {
        let storage = ScriptedStorage()
        try await withOwningRecipes(storage: storage) { host, lfs in
            let bytes = someBytes()
            let first = try await attach(bytes, title: "first", host: host, lfs: lfs)
            try await lfs.waitForUploads()
            let second = try await attach(bytes, title: "second", host: host, lfs: lfs)
            try await lfs.waitForUploads()
            #expect(second.id == first.id)
            #expect(storage.uploads == 1)
            #expect(try host.filesInTemporary().isEmpty)
            try await host.run("DELETE FROM recipe WHERE title = 'first'")
            try await lfs.waitForDeletions()
            #expect(try host.file(first.id) != nil)
            #expect(storage.memory.keys.map(\.rawValue) == [first.key])
            try await host.run("DELETE FROM recipe WHERE title = 'second'")
            try await lfs.waitForDeletions()
            #expect(try host.count("lfs_file") == 0)
            #expect(storage.memory.keys.isEmpty)
        }
    }

    @Test("Equal bytes in one transaction share a file, and other bytes do not")
    func together() async throws {
        let storage = ScriptedStorage()
        try await withOwningRecipes(storage: storage) { host, lfs in
            let (bytes, others) = (someBytes(100), someBytes(100))
            var made: [FileData] = []
            for content in [bytes, bytes, others] { made.append(try await lfs.makeFile(from: .bytes(content))) }
            let files = made
            let attached = try await host.database.write { db in
                try files.map { file in
                    let file = try lfs.insertOrReuse(file, in: db)
                    try Recipe(title: "one of three", photoId: file.id).insert(db)
                    return file.id
                }
            }
            #expect(attached == [files[0].id, files[0].id, files[2].id])
            try await lfs.discard(files[1])
            try await lfs.waitForUploads()
            #expect(storage.uploads == 2)
            let found = try await host.database.read { db in
                try FileData.filter(FileData.Columns.sha256 == files[1].sha256).fetchAll(db)
            }
            #expect(found.map(\.id) == [files[0].id])
        }
    }

    /// The states in which a file is not reliable.
    static let flaws = [
        "UPDATE lfs_job SET state = 'failed', errorCode = 'lost'",
        "UPDATE lfs_job SET state = 'failed', errorCode = 'sourceChanged'",
        "UPDATE lfs_job SET state = 'cancelled'",
        "UPDATE lfs_job SET replacesObject = 1",
        "DELETE FROM lfs_job",
        "UPDATE lfs_state SET holdsDeletions = 1",
    ]

    @Test("A file in an unreliable state is not reused", arguments: flaws)
    func unreliable(sql: String) async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let bytes = someBytes()
                let first = try await attach(bytes, title: "first", host: host, lfs: lfs)
                try await host.run(sql)
                #expect(try await attach(bytes, title: "second", host: host, lfs: lfs).id != first.id)
            }
        }
    }

    @Test("A file of another device is not reused, because that device may delete it")
    func otherDevice() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes()
            let received = try await host.receiveUploaded(bytes)
            // Its bytes are stored on this device too, and its object is uploaded like any other.
            #expect(try await read(received, lfs: lfs) == bytes)
            #expect(try await lfs.hasLocalCopy(of: received.id))
            #expect(try await attach(bytes, title: "mine", host: host, lfs: lfs).id != received.id)
        }
    }

    @Test("A file that lost its local bytes before the upload is not reused")
    func noBytes() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let bytes = someBytes()
                let first = try await attach(bytes, title: "first", host: host, lfs: lfs)
                for name in try host.filesInTemporary() {
                    try FileManager.default.removeItem(at: host.temporary.appendingPathComponent(name.uuidString))
                }
                #expect(try await !lfs.hasLocalCopy(of: first.id))
                #expect(try await attach(bytes, title: "second", host: host, lfs: lfs).id != first.id)
            }
        }
    }

    @Test("A record keeps its bytes when the last other record is deleted at the same time")
    func race() async throws {
        try await withOwningRecipes(storage: nil) { host, lfs in
            let bytes = someBytes(50)
            _ = try await attach(bytes, title: "0", host: host, lfs: lfs)
            for round in 1...100 {
                async let deletion: Void = host.run("DELETE FROM recipe WHERE title = '\(round - 1)'")
                async let attached = attach(bytes, title: "\(round)", host: host, lfs: lfs)
                let file = try await attached
                try await deletion
                if round % 3 == 0 { try await lfs.waitForDeletions() }
                #expect(try host.file(file.id) != nil)
            }
            try await lfs.waitForUploads()
            try await lfs.waitForDeletions()
            let left = try await host.database.read { try FileData.fetchAll($0) }
            #expect(left.count == 1)
            for file in left { #expect(try await read(file, lfs: lfs) == bytes) }
        }
    }

    @Test("A file that loses its owner and gets another one before the worker looks is kept")
    func notedFirst() async throws {
        try await withHost { host in
            try await host.ownPhotos()
            let bytes = someBytes()
            try await withManager(host, starts: false) { lfs in
                let first = try await attach(bytes, title: "first", host: host, lfs: lfs)
                try await host.run("DELETE FROM recipe")
                #expect(try host.count("lfs_disowned") == 1)
                #expect(try await attach(bytes, title: "second", host: host, lfs: lfs).id == first.id)
                try lfs.start()
                try await lfs.waitForDeletions()
                #expect(try host.file(first.id) != nil)
            }
        }
    }

    private func attach(_ bytes: [UInt8], title: String, host: TestHost, lfs: LFSManager) async throws -> FileData {
        let made = try await lfs.makeFile(from: .bytes(bytes))
        let file = try await host.database.write { db in
            let file = try lfs.insertOrReuse(made, in: db)
            try Recipe(title: title, photoId: file.id).insert(db)
            return file
        }
        if file.id != made.id { try await lfs.discard(made) }
        return file
    }
}

private func withOwningRecipes(
    storage: (any RemoteStorage)?, _ body: (TestHost, LFSManager) async throws -> Void
) async throws {
    try await withLFS(storage: storage) { host, lfs in
        try await host.ownPhotos()
        try await body(host, lfs)
    }
}

extension TestHost {
    fileprivate func ownPhotos() async throws {
        try await database.write { db in try FileData.deletedWithOwner("recipe", column: "photoId", in: db) }
    }

    fileprivate func run(_ sql: String) async throws { try await database.write { try $0.execute(sql: sql) } }
}
