import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import TestSupport
import Testing

@Suite("Missing and damaged objects", .timeLimit(.minutes(10)))
struct MissingObjectTests {
    private func isFree(_ file: FileData, lfs: LFSManager) async throws -> Bool {
        guard await errorCode({ try await lfs.evict(file.id) }) != .notUploaded else { return false }
        return try await !lfs.hasLocalCopy(of: file.id)
    }

    @Test("The local copy of a missing object is not evicted, and a retry uploads it")
    func keeps() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            try await withManager(checked.host, options: checked.options) { lfs in
                try checked.plant(nil, at: checked.object(files[1]))
                for _ in 1...2 {
                    let (report, findings) = try await checked.verify(lfs)
                    #expect(Set(findings.map(Told.init)) == [Told(.missingRemotely, id: files[1].id, repair: .upload)])
                    #expect(report.lostBytes == 0)
                }
                #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 2)
                #expect(try await !isFree(files[1], lfs: lfs))
                #expect(try await lfs.retry() == 1)
                try await lfs.waitForUploads()
                #expect(FileManager.default.fileExists(atPath: checked.object(files[1]).path))
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs: lfs))
            }
        }
    }

    @Test("The local copy of a damaged object is not evicted before the repair", arguments: [999, 1_000])
    func damaged(byteCount: Int) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, options: checked.options) { lfs in
                try checked.plant(someBytes(byteCount), at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.map(\.repair) == [.upload])
                #expect(try await !isFree(files[1], lfs: lfs))
                #expect(try await checked.verify(lfs, repairs: true).findings.map(\.repair) == [.upload])
                try await lfs.waitForUploads()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs: lfs))
            }
        }
    }

    @Test(
        "An object that is restored on the storage counts as right again", arguments: ["verify", "retry", "readBack"])
    func putBack(then: String) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, options: checked.options) { lfs in
                let bytes = try [UInt8](Data(contentsOf: checked.object(files[1])))
                try checked.plant(nil, at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.count == 1)
                try checked.plant(bytes, at: checked.object(files[1]))
                let (report, findings) = try await checked.verify(lfs)
                #expect(findings.map(Told.init) == [Told(.uploadStuck, id: files[1].id, repair: .clear)])
                #expect(report.lostBytes == 0)
                switch then {
                case "verify": #expect(try await checked.verify(lfs, repairs: true).report.isClean)
                case "retry": #expect(try await lfs.retry() == 1)
                default: _ = try await lfs.readBack([files[1].id])
                }
                try await lfs.waitForUploads()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await isFree(files[1], lfs: lfs))
                #expect(try [UInt8](Data(contentsOf: checked.object(files[1]))) == bytes)
            }
        }
    }

    @Test("The local copy is not evicted if another object of equal size is in its place")
    func otherObject() async throws {
        try await withTemporaryFolder { folder in
            let remote = folder.appendingPathComponent("remote")
            // This storage reports no checksums.
            let storage = try DirectoryStorage(at: remote)
            try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
                let files = try await keptFiles(2, host: host, lfs: lfs)
                #expect(try host.file(files[1].id)?.proof == .checksum)
                let object = remote.appendingPathComponent(files[1].key)
                try FileManager.default.removeItem(at: object)
                try await #expect(lfs.verified { _ in }.findings.map(\.repair) == [.upload])
                try Data(someBytes()).write(to: object)
                try await #expect(lfs.verified { $0.repairs = true }.findings.map(\.repair) == [.clear])
                try #expect(host.count("lfs_job") == 0)
                #expect(await errorCode { try await lfs.evict(files[1].id) } == .notUploaded)
                try await #expect(lfs.hasLocalCopy(of: files[1].id))
            }
        }
    }

    @Test("Clearing the note of a missing object keeps a later note of its damage")
    func damagedMeanwhile() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            try await checked.host.database.write { db in
                try JobTable.noteMissing(of: file.id, "It is missing.", now: 0, db)
                try JobTable.noteDamage(of: file.id, "Other bytes.", now: 0, db)
                try JobTable.removeNote(of: file.id, db)
            }
            try #expect(checked.host.count("lfs_job WHERE replacesObject = 1") == 1)
        }
    }

    @Test("Deleting a file also deletes the note of its missing object")
    func deleted() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await withManager(checked.host, options: checked.options) { lfs in
                try checked.plant(nil, at: checked.object(files[1]))
                #expect(try await checked.verify(lfs).findings.count == 1)
                _ = try await checked.host.database.write { try files[1].delete($0) }
                try await lfs.waitForDeletions()
                #expect(try await checked.verify(lfs).findings.isEmpty)
                #expect(try await lfs.retry() == 0)
            }
        }
    }
}
