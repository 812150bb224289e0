import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Tests of objects whose bytes rot on a storage that still reports the old checksums.
@Suite("Rotten objects", .timeLimit(.minutes(10)))
struct RotTests {
    private func verify(
        _ lfs: LFSManager, repairs: Bool = false, reads: Bool = false
    ) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        try await lfs.verified { ($0.checksContent, $0.repairs, $0.readsRemote) = (true, repairs, reads) }
    }

    private func put(_ bytes: [UInt8], into host: TestHost, file: FileData) throws {
        try Data(bytes).write(to: host.store.appendingPathComponent(file.id.uuidString))
    }

    @Test(
        "A corrupted object is recorded by a read and repaired from correct bytes",
        arguments: RottingStorage.Rot.allCases)
    func whenRead(_ rot: RottingStorage.Rot) async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try storage.rot(file.key, rot: rot)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            for _ in 1...2 {
                let (report, findings) = try await verify(lfs)
                #expect(findings.map(\.fileID) == [file.id])
                #expect(!report.isClean && report.lostBytes == 1_000)
            }
            // Puts the right bytes back into the store.
            try put(bytes, into: host, file: file)
            #expect(await errorCode { try await lfs.evict(file.id) } == .notUploaded)
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 0)
            let (report, findings) = try await verify(lfs, repairs: true)
            #expect(findings.map(\.repair) == [.upload])
            #expect(report.isClean && report.lostBytes == 0)
            try await lfs.waitForUploads()
            #expect(storage.uploads == 2, "the bytes were uploaded again")
            try await #expect(verify(lfs, reads: true).findings == [])
            try await lfs.evict(file.id)
            try await #expect(read(file, lfs: lfs) == bytes)
        }
    }

    @Test(
        "A verification that reads objects finds a corrupted one and keeps the copy",
        arguments: RottingStorage.Rot.allCases)
    func whenVerified(_ rot: RottingStorage.Rot) async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(5, host: host, lfs: lfs)
            try await #expect(verify(lfs, reads: true).findings == [])
            try storage.rot(files[2].key, rot: rot)
            let (report, findings) = try await verify(lfs, reads: true)
            #expect(findings.map(\.fileID) == [files[2].id])
            #expect(findings.map(\.repair) == [.upload])
            #expect(!report.isClean && report.lostBytes == 0)
            #expect(report.objectBytesRead == (rot == .flipped ? 5_000 : 4_000))
            // The note keeps the copy without another check.
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 4)
            try await #expect(lfs.hasLocalCopy(of: files[2].id))
            #expect(try await verify(lfs, repairs: true).report.isClean)
            try await lfs.waitForUploads()
            try await lfs.evict(files[2].id)
            #expect(try await read(files[2], lfs: lfs)?.count == 1_000)
        }
    }

    @Test("A corrupted object without correct bytes becomes and stays a known loss")
    func lost() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            try storage.rot(file.key)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            for round in 1...3 {
                let (report, findings) = try await verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.noted])
                #expect(report.isClean == (round > 1) && report.lostBytes == 1_000)
            }
        }
    }

    @Test("A storage that fails for all objects has an outage and no corrupted object")
    func outage() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try await lfs.evict(files[0].id)
            for file in files { try storage.rot(file.key, rot: .failing) }
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: files[0]) }
            await #expect(throws: LFSError.self) { _ = try await verify(lfs, reads: true) }
            storage.recover()
            try #expect(host.count("lfs_job") == 0)
            try await #expect(verify(lfs, reads: true).findings == [])
        }
    }

    @Test("Bytes that an earlier download has left do not prove a damaged object")
    func earlierBytes() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let bytes = someBytes(3 << 20)
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try host.leavePartial(of: file, bytes, tag: "v1")
            try storage.rot(file.key)
            try await #expect(lfs.readBack([file.id]).map(\.outcome) == [.damaged])
            try await #expect(read(file, lfs: lfs) == bytes)
            try #expect(host.count("lfs_job WHERE replacesObject = 1") == 1)
            #expect(await errorCode { try await lfs.evict(file.id) } == .notUploaded)
            try await #expect(lfs.hasLocalCopy(of: file.id))
        }
    }

    @Test("An object whose right bytes were read is no longer a finding")
    func readAgain() async throws {
        let storage = SpoilingStorage(InMemoryStorage(), fault: .flipped, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            storage.spoil(1)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            try #expect(host.count("lfs_job WHERE replacesObject = 1") == 1)
            try await #expect(read(file, lfs: lfs) == bytes)
            try #expect(host.count("lfs_job") == 0)
            try await #expect(verify(lfs).findings == [])
        }
    }
}

/// Tests with a storage that confirms only the size of an object.
@Suite("Objects confirmed by size only", .timeLimit(.minutes(10)))
struct UnprovenTests {
    @Test("The row of a file contains how the storage confirmed its object")
    func row() async throws {
        for vouches in [false, true] {
            try await withLFS(storage: RottingStorage(vouches: vouches)) { host, lfs in
                let file = try await keptFiles(1, host: host, lfs: lfs)[0]
                #expect(try host.file(file.id)?.status == .remote)
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
                // Saving a record from before the upload does not undo the upload, whatever statement saves it.
                try await host.database.write { db in try file.update(db) }
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
                try await host.database.write { db in try file.insert(db, onConflict: .replace) }
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
            }
        }
    }

    @Test("An object that is confirmed by its size is read back once before eviction")
    func readBack() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try await lfs.evict(files[0].id)
            #expect(storage.downloads == 1)
            #expect(try host.file(files[0].id)?.proof == .checksum)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 2 && storage.downloads == 3)
            // The bytes of a downloaded copy were verified during the download.
            for file in files { #expect(try await read(file, lfs: lfs)?.count == 1_000) }
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 3)
            #expect(storage.downloads == 6)
        }
    }

    @Test("A copy is kept if its object has other bytes, and it repairs the object")
    func otherBytes() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try storage.rot(files[0].key)
            try storage.rot(files[1].key, rot: .hidden)
            #expect(await errorCode { try await lfs.evict(files[0].id) } == .notUploaded)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 1)
            #expect(try host.filesInStore() == [files[0].id, files[1].id])
            var options = VerifyOptions()
            options.repairs = true
            #expect(try await lfs.verify(options).repaired == 2)
            try await lfs.waitForUploads()
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 2)
            for file in files { #expect(try await read(file, lfs: lfs)?.count == 1_000) }
        }
    }

    @Test("The policy decides on evicting copies whose object is confirmed by size only")
    func policies() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            var policy = EvictionPolicy(maxByteCount: 0)
            policy.unproven = .keep
            let kept = try await lfs.evict(policy)
            #expect(kept.evicted.files == 0 && kept.stays[.unproven]?.files == 3)
            policy.unproven = .evict
            #expect(try await lfs.evict(policy).evicted.files == 3)
            #expect(storage.downloads == 0)
            #expect(try host.file(files[0].id)?.proof == .byteCount)
        }
    }

    @Test("Reading an empty file does not prove its object")
    func empty() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await keptFiles(1, byteCount: 0, host: host, lfs: lfs)[0]
            try FileManager.default.removeItem(at: host.store.appendingPathComponent(file.id.uuidString))
            #expect(try await read(file, lfs: lfs)?.isEmpty == true)
            #expect(storage.downloads == 0)
            #expect(try host.file(file.id)?.proof == .byteCount)
        }
    }

    @Test("An object is not read back if its local copy is already evicted")
    func evictedMeanwhile() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            // Simulates another process that evicts the copy at the same time.
            try FileManager.default.removeItem(at: host.store.appendingPathComponent(file.id.uuidString))
            try await lfs.evict(file.id)
            #expect(storage.downloads == 0)
        }
    }

    @Test("A copy is kept while its object cannot be read back")
    func away() async throws {
        let storage = RottingStorage(vouches: false)
        let away = FailingStorage(
            storage, on: [.download], times: 1_000, with: StorageError(.unreachable, message: "It is away."))
        try await withLFS(storage: away) { host, lfs in
            _ = try await keptFiles(3, host: host, lfs: lfs)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 0 && report.stays[.unproven]?.files == 3)
            try #expect(host.count("lfs_job") == 0)
        }
    }
}
