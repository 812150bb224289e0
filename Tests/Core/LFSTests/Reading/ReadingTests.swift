import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Reading files", .timeLimit(.minutes(10)))
struct ReadingTests {
    @Test("A file is readable before the commit, after it and after eviction")
    func everywhere() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(700_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            #expect(try await read(file, lfs: lfs) == bytes)
            try await host.database.write { try file.insert($0) }
            #expect(try await read(file, lfs: lfs) == bytes)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            #expect(try await !lfs.hasLocalCopy(of: file.id))
            #expect(try host.filesInStore().isEmpty)
            #expect(try await read(file, lfs: lfs) == bytes)
            #expect(try host.filesInStore() == [file.id])
            let url = try #require(try await lfs.localURL(of: file))
            #expect(try [UInt8](Data(contentsOf: url)) == bytes)
        }
    }

    @Test("The only copy of a file cannot be evicted")
    func onlyCopy() async throws {
        try await withLFS { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            #expect(await errorCode { try await lfs.evict(file.id) } == .notUploaded)
            #expect(await errorCode { try await lfs.evict(.unknown) } == .unknownFile)
            #expect(try await read(file, lfs: lfs)?.count == 1_000)
            lfs.resume()
        }
    }

    @Test("An open reader reads a file to its end although the copy is evicted")
    func openReader() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(600_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let contents = try #require(try await lfs.contents(of: file))
            try await lfs.evict(file.id)
            var read: [UInt8] = []
            for try await chunk in contents { read += chunk }
            #expect(read == bytes)
        }
    }

    @Test(
        "A range of a file is read in chunks, and bytes beyond its end are left out",
        arguments: [
            (0..<10 as Range<Int64>, 0..<10), (250_000..<600_000, 250_000..<600_000),
            (599_999..<900_000, 599_999..<600_000),
            (700_000..<900_000, 600_000..<600_000), (5..<5, 5..<5), (-9..<3, 0..<3),
        ])
    func part(wanted: Range<Int64>, expected: Range<Int>) async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(600_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            let part = try #require(try await lfs.contents(of: file))[wanted]
            var read: [UInt8] = []
            for try await chunk in part { read += chunk }
            #expect(read == Array(bytes[expected]))
            #expect(part.byteCount == expected.count)
            // A range of a range counts from the range's own start.
            read = []
            for try await chunk in part[2..<4] { read += chunk }
            #expect(read == Array(bytes[expected].dropFirst(2).prefix(2)))
        }
    }

    @Test("A lost file of this device fails with `bytesMissing`")
    func lost() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await yield(while: host.filesInStore().isEmpty)
            try FileManager.default.removeItem(at: host.store.appendingPathComponent(file.id.uuidString))
            let error = await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            #expect(error?.code == .bytesMissing && error?.isMissing == true)
            lfs.resume()
            let summary = try await lfs.waitForUploads()
            #expect(summary.failures.map(\.fileID) == [file.id])
            #expect(try host.file(file.id)?.status == .local)
        }
    }

    @Test("Another device reads an uploaded file by the key in its row")
    func otherDevice() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes(300_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let row = try #require(try host.file(file.id))
            try await withLFS(storage: storage) { other, otherLFS in
                try await other.database.write { try row.insert($0) }
                #expect(try await read(row, lfs: otherLFS) == bytes)
            }
        }
    }

    @Test("A remote object with wrong bytes fails with `sourceChanged` and leaves nothing")
    func wrongBytes() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            let other = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in
                try file.insert(db)
                try other.insert(db)
            }
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            let wrong = UploadSourceFactory.source(of: other, in: host.store)
            _ = try await storage.upload(try wrong(), to: try ObjectKey(file.key), session: UploadSession())
            #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
            #expect(try host.filesInStore() == [other.id])
            let incoming = try FileManager.default.contentsOfDirectory(
                atPath: host.store.appendingPathComponent("incoming").path)
            #expect(incoming.isEmpty)
            try #expect(host.count("lfs_job WHERE errorCode = 'damaged'") == 1, "the damage is recorded")
        }
    }
}

enum UploadSourceFactory {
    /// Returns the stored bytes of a file as the source of an upload.
    static func source(of file: FileData, in store: URL) -> () throws -> UploadSource {
        {
            try UploadSource(
                file: store.appendingPathComponent(file.id.uuidString), byteCount: file.byteCount, sha256: file.sha256)
        }
    }
}
