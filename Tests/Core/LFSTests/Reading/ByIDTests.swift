import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Reading by id", .timeLimit(.minutes(10)))
struct ByIDTests {
    @Test("Reading by id returns the same as reading by record, locally and remotely", arguments: [false, true])
    func sameAsByRecord(isEvicted: Bool) async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(300_000)
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            if isEvicted { try await lfs.evict(file.id) }
            #expect(try await lfs.bytes(of: file.id, range: 10..<20) == Data(bytes[10..<20]))
            #expect(try await lfs.data(of: file.id) == Data(bytes))
            #expect(try await lfs.data(of: file) == Data(bytes))
            var read: [UInt8] = []
            for try await chunk in try #require(try await lfs.contents(of: file.id)) { read += chunk }
            #expect(read == bytes)
            let url = try #require(try await lfs.localURL(of: file.id))
            #expect(try Data(contentsOf: url) == Data(bytes))
            #expect(try await lfs.localURL(of: file) == url)
        }
    }

    @Test("Reading an id without a row fails with `unknownFile`")
    func unknown() async throws {
        try await withLFS { _, lfs in
            let id = FileID.unknown
            #expect(await errorCode { _ = try await lfs.contents(of: id) } == .unknownFile)
            #expect(await errorCode { _ = try await lfs.data(of: id) } == .unknownFile)
            #expect(await errorCode { _ = try await lfs.localURL(of: id) } == .unknownFile)
            #expect(await errorCode { _ = try await lfs.bytes(of: id, range: 0..<1) } == .unknownFile)
        }
    }

    @Test("Reading a file that another device has not uploaded yet returns nil")
    func notUploadedYet() async throws {
        try await withLFS { host, lfs in
            let id = FileID.make()
            try await host.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                        VALUES (?, 'local', 1, ?, 'elsewhere/' || ?, 0)
                        """, arguments: [id, String(repeating: "0", count: 64), id])
            }
            #expect(try await lfs.data(of: id) == nil)
            #expect(try await lfs.contents(of: id) == nil)
            try await host.database.write { db in _ = try FileData.deleteOne(db, key: id) }
        }
    }
}
