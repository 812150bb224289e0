import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Bytes that go bad on the storage, which says of them what it said when they came.
@Suite("An object that has rotted", .timeLimit(.minutes(10)))
struct RotTests {
    private func verify(
        _ lfs: LFSManager, repairs: Bool = false, reads: Bool = false
    ) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        try await lfs.verified { ($0.checksContent, $0.repairs, $0.readsRemote) = (true, repairs, reads) }
    }

    private func put(_ bytes: [UInt8], into host: TestHost, _ file: FileData) throws {
        try Data(bytes).write(to: host.store.appendingPathComponent(file.id.uuidString))
    }

    @Test(
        "is noted when it is read, told until it is mended, and mended from right bytes",
        arguments: RottingStorage.Rot.allCases)
    func whenRead(_ rot: RottingStorage.Rot) async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host, lfs)
            try storage.rot(file.key, rot)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            for _ in 1...2 {
                let (report, findings) = try await verify(lfs)
                #expect(findings.map(\.fileID) == [file.id])
                #expect(!report.isClean && report.lostBytes == 1_000)
            }
            // Somebody puts the right bytes back here.
            try put(bytes, into: host, file)
            #expect(await errorCode { try await lfs.evict(file.id) } == .notUploaded)
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 0)
            let (report, findings) = try await verify(lfs, repairs: true)
            #expect(findings.map(\.repair) == [.upload])
            #expect(report.isClean && report.lostBytes == 0)
            try await lfs.waitForUploads()
            #expect(storage.uploads == 2, "the bytes went out again")
            try await #expect(verify(lfs, reads: true).findings == [])
            try await lfs.evict(file.id)
            try await #expect(read(file, lfs) == bytes)
        }
    }

    @Test(
        "is found by a verification that reads objects, and never evicted past", arguments: RottingStorage.Rot.allCases)
    func whenVerified(_ rot: RottingStorage.Rot) async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(5, host, lfs)
            try await #expect(verify(lfs, reads: true).findings == [])
            try storage.rot(files[2].key, rot)
            let (report, findings) = try await verify(lfs, reads: true)
            #expect(findings.map(\.fileID) == [files[2].id])
            #expect(findings.map(\.repair) == [.upload])
            #expect(!report.isClean && report.lostBytes == 0)
            #expect(report.objectBytesRead == (rot == .flipped ? 5_000 : 4_000))
            // What was seen holds without another look.
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 4)
            try await #expect(lfs.hasLocalCopy(of: files[2].id))
            #expect(try await verify(lfs, repairs: true).report.isClean)
            try await lfs.waitForUploads()
            try await lfs.evict(files[2].id)
            #expect(try await read(files[2], lfs)?.count == 1_000)
        }
    }

    @Test("of which nobody has right bytes becomes a known loss, which what the storage says of it does not end")
    func lost() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let file = try await remoteFile(someBytes(), host, lfs)
            try storage.rot(file.key)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            for round in 1...3 {
                let (report, findings) = try await verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.noted])
                #expect(report.isClean == (round > 1) && report.lostBytes == 1_000)
            }
        }
    }

    @Test("is not what a storage has that fails for all objects")
    func outage() async throws {
        let storage = RottingStorage()
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host, lfs)
            try await lfs.evict(files[0].id)
            for file in files { try storage.rot(file.key, .failing) }
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: files[0]) }
            await #expect(throws: LFSError.self) { _ = try await verify(lfs, reads: true) }
            storage.recover()
            try #expect(host.count("lfs_job") == 0)
            try await #expect(verify(lfs, reads: true).findings == [])
        }
    }

    @Test("is no finding any more once its right bytes were read")
    func readAgain() async throws {
        let storage = SpoilingStorage(InMemoryStorage(), .flipped, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host, lfs)
            storage.spoil(1)
            await #expect(throws: LFSError.self) { _ = try await lfs.contents(of: file) }
            try #expect(host.count("lfs_job WHERE replacesObject = 1") == 1)
            try await #expect(read(file, lfs) == bytes)
            try #expect(host.count("lfs_job") == 0)
            try await #expect(verify(lfs).findings == [])
        }
    }
}

/// A storage that vouches for no bytes.
@Suite("A file that the storage vouches for by its size alone", .timeLimit(.minutes(10)))
struct UnprovenTests {
    @Test("says so in its row")
    func row() async throws {
        for vouches in [false, true] {
            try await withLFS(storage: RottingStorage(vouches: vouches)) { host, lfs in
                let file = try await keptFiles(1, host, lfs)[0]
                #expect(try host.file(file.id)?.status == .remote)
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
                // A record from before the upload does not undo it, however it is saved.
                try await host.database.write { db in try file.update(db) }
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
                try await host.database.write { db in try file.insert(db, onConflict: .replace) }
                #expect(try host.file(file.id)?.proof == (vouches ? .checksum : .byteCount))
            }
        }
    }

    @Test("is read back before its local copy goes, once")
    func readBack() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host, lfs)
            try await lfs.evict(files[0].id)
            #expect(storage.downloads == 1)
            #expect(try host.file(files[0].id)?.proof == .checksum)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 2 && storage.downloads == 3)
            // A copy that was fetched was compared on its way.
            for file in files { #expect(try await read(file, lfs)?.count == 1_000) }
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 3)
            #expect(storage.downloads == 6)
        }
    }

    @Test("keeps its local copy when other bytes come back, and is mended from it")
    func otherBytes() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host, lfs)
            try storage.rot(files[0].key)
            try storage.rot(files[1].key, .hidden)
            #expect(await errorCode { try await lfs.evict(files[0].id) } == .notUploaded)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 1)
            #expect(try host.filesInStore() == [files[0].id, files[1].id])
            var options = VerifyOptions()
            options.repairs = true
            #expect(try await lfs.verify(options).repaired == 2)
            try await lfs.waitForUploads()
            #expect(try await lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 2)
            for file in files { #expect(try await read(file, lfs)?.count == 1_000) }
        }
    }

    @Test("stays here when the storage cannot be read, and goes when a policy accepts the risk")
    func policies() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let files = try await keptFiles(3, host, lfs)
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

    @Test("is not fetched for a copy that is gone already")
    func evictedMeanwhile() async throws {
        let storage = RottingStorage(vouches: false)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await keptFiles(1, host, lfs)[0]
            // As another process that evicts it at the same moment.
            try FileManager.default.removeItem(at: host.store.appendingPathComponent(file.id.uuidString))
            try await lfs.evict(file.id)
            #expect(storage.downloads == 0)
        }
    }

    @Test("stays here while the storage is away")
    func away() async throws {
        let storage = RottingStorage(vouches: false)
        let away = FailingStorage(
            storage, on: [.download], times: 1_000, with: StorageError(.unreachable, "It is away."))
        try await withLFS(storage: away) { host, lfs in
            _ = try await keptFiles(3, host, lfs)
            let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
            #expect(report.evicted.files == 0 && report.stays[.unproven]?.files == 3)
            try #expect(host.count("lfs_job") == 0)
        }
    }
}
