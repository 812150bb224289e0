import Foundation
import GRDB
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Full disks", .timeLimit(.minutes(10)))
struct FullDiskTests {
    @Test(
        "A full store does not block uploads of bytes that are staged on another disk",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func fullStore() async throws {
        let storage = InMemoryStorage()
        try await withSmallFileSystem(kilobytes: 1_024) { small in
            try await withHost(storage: storage) { host in
                var options = host.options
                options.localStore = small.appendingPathComponent("store")
                options.persistenceLocation = host.folder.appendingPathComponent("location")
                let full = options
                var files: [FileData] = []
                let filler = try await withFullDisk(host, options: full, small: small) { lfs in
                    for _ in 0..<3 { files.append(try await lfs.makeFile(from: .bytes(someBytes(200_000)))) }
                    let made = files
                    try await host.database.write { db in for file in made { try file.insert(db) } }
                    let summary = try await lfs.waitForUploads()
                    #expect(summary.failed == 0)
                    for file in made {
                        #expect(try host.file(file.id)?.status == .remote)
                        try await #expect(read(file, lfs: lfs)?.count == 200_000)
                    }
                }
                let next = try await LFSManager.open(host.database, options: full)
                try next.start()
                try await #expect(read(files[0], lfs: next)?.count == 200_000)
                let store = small.appendingPathComponent("store")
                try #expect(TestHost.files(in: store).isEmpty)
                // There is space again. The files move automatically after the next commit or poll.
                try FileManager.default.removeItem(at: filler)
                try await yield(while: TestHost.files(in: store).count < 3)
                try await next.stop()
                // The opening on the full disk does not look like the use of another folder.
                try await withManager(host, options: full, starts: false) { lfs in
                    try await #expect(lfs.absentFolders().isEmpty)
                }
            }
        }
    }

    @Test(
        "A manager on a full disk can open, read and evict",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func wayOut() async throws {
        try await withSmallFileSystem(kilobytes: 8_192) { small in
            try await withHost(in: small) { host in
                var files: [FileData] = []
                try await withManager(host) { lfs in
                    files = try await keptFiles(3, byteCount: 200_000, host: host, lfs: lfs)
                }
                let filler = try fill(small)
                try await withManager(host) { lfs in
                    try await #expect(read(files[0], lfs: lfs)?.count == 200_000)
                    let code = await errorCode { _ = try await lfs.makeFile(from: .bytes(someBytes(200_000))) }
                    #expect(code == .noSpace)
                    let report = try await lfs.evictAll()
                    #expect(report.evicted.files == 3)
                    try #expect(host.filesInStore().isEmpty)
                    // The manager recreates its spare file as soon as there is space.
                    try FileManager.default.removeItem(at: filler)
                    _ = try await lfs.evictAll()
                    let spare = host.store.appendingPathComponent("spare")
                    #expect(FileManager.default.fileExists(atPath: spare.path))
                    try await #expect(read(files[1], lfs: lfs)?.count == 200_000)
                }
            }
        }
    }

    @Test("A manager on a full disk carries out deletions", .enabled(if: Machine.canMount, "needs root to mount"))
    func deletions() async throws {
        let storage = InMemoryStorage()
        try await withSmallFileSystem(kilobytes: 8_192) { small in
            try await withHost(storage: storage, in: small) { host in
                var files: [FileData] = []
                try await withManager(host) { lfs in
                    files = try await keptFiles(3, byteCount: 200_000, host: host, lfs: lfs)
                }
                let deleted = files[0]
                _ = try await host.database.write { db in try deleted.delete(db) }
                let filler = try fill(small)
                try await withManager(host) { lfs in
                    try await #expect(lfs.waitForDeletions() == 0)
                    #expect(storage.keys.count == 2)
                    try #expect(!host.filesInStore().contains(deleted.id))
                }
                try FileManager.default.removeItem(at: filler)
            }
        }
    }

    /// Runs a manager while the disk is full. Returns the file that fills it.
    private func withFullDisk(
        _ host: TestHost, options: LFSOptions, small: URL, _ body: (LFSManager) async throws -> Void
    ) async throws -> URL {
        var filler: URL?
        try await withManager(host, options: options) { lfs in
            filler = try fill(small)
            try await body(lfs)
        }
        return try #require(filler)
    }

    /// Writes until the disk is full.
    private func fill(_ disk: URL) throws -> URL {
        let url = disk.appendingPathComponent("filler")
        #expect(FileManager.default.createFile(atPath: url.path, contents: nil))
        let file = try FileHandle(forWritingTo: url)
        for size in [65_536, 4_096, 1] {
            do {
                while true { try file.write(contentsOf: Data(count: size)) }
            } catch {
                // The disk is full for this size.
            }
        }
        try file.close()
        return url
    }
}
