import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Eviction", .timeLimit(.minutes(10)))
struct FreeTests {
    /// Evicts after a preview, and checks that the preview reports the same.
    private func free(_ policy: EvictionPolicy, lfs: LFSManager) async throws -> EvictionReport {
        let (foretold, told) = (Heard<EvictedCopy>(), Heard<EvictedCopy>())
        let preview = try await lfs.previewEviction(policy) { foretold.add($0) }
        let report = try await lfs.evict(policy) { told.add($0) }
        #expect(preview == report)
        #expect(foretold.values == told.values)
        #expect(report.evicted.files == told.values.count)
        for copy in told.values { try await #expect(!lfs.hasLocalCopy(of: copy.id)) }
        return report
    }

    @Test("Eviction to a byte limit starts with the least recently used copies")
    func budget() async throws {
        let time = TestTime(Date().addingTimeInterval(3_600))
        try await withLFS(configure: { $0.wallClock = { time.now } }) { host, lfs in
            let files = try await keptFiles(10, host: host, lfs: lfs)
            let order = files.shuffled()
            let start = time.now.timeIntervalSince1970
            time.now.addTimeInterval(100)
            try await host.setUses(order.enumerated().map { ($1, start + Double($0) + 1) })
            let report = try await free(EvictionPolicy(maxByteCount: 4_000), lfs: lfs)
            #expect(report.evicted == EvictionReport.Amount(files: 6, byteCount: 6_000))
            #expect(report.stays == [.fits: EvictionReport.Amount(files: 4, byteCount: 4_000)])
            #expect(report.shortfall == 0)
            #expect(try host.filesInStore() == Set(order.suffix(4).map(\.id)))
            let bytes = try await read(order[0], lfs: lfs)
            #expect(bytes?.count == 1_000, "an evicted file is downloaded again")
        }
    }

    @Test("A policy without limits evicts nothing")
    func noAim() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            let report = try await free(EvictionPolicy(), lfs: lfs)
            #expect(report.evicted.files == 0)
            #expect(report.stays[.fits]?.files == 3)
            #expect(try host.filesInStore() == Set(files.map(\.id)))
        }
    }

    @Test("Eviction keeps files by its rules and reports the reasons and the shortfall")
    func reasons() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let kept = try await keptFiles(5, host: host, lfs: lfs)
            let image = try await lfs.makeFile(from: .bytes(someBytes()), name: "a.JPG")
            try await host.database.write { db in try image.insert(db) }
            try await lfs.waitForUploads()
            let files = kept + [image]
            let old = Date().addingTimeInterval(-3_600)
            try await host.database.write { db in
                try db.execute(sql: "UPDATE lfs_file SET createdAt = ?", arguments: [old])
                try db.execute(
                    sql: "INSERT INTO lfs_job (fileID, lane, byteCount, notBefore) VALUES (?, 0, 1000, ?)",
                    arguments: [files[0].id, Date().addingTimeInterval(600).millisecondsSince1970])
                try Recipe(title: "a", photoId: files[2].id).insert(db)
            }
            try await lfs.pin([files[1].id])
            try await host.setUses([(files[3], Date().timeIntervalSince1970 - 60)])
            let reading = try await lfs.contents(of: files[4])
            try await host.setUses([(files[4], 0)])
            try await lfs.uses.flush()
            try await host.setUses([(files[4], 0)])

            var policy = EvictionPolicy(maxByteCount: 500)
            policy.keepsUsedWithin = .seconds(600)
            policy.keepsContentTypes = ["IMAGE/*"]
            policy.keep { FileData.filter(sql: "id IN (SELECT photoId FROM recipe)") }
            let report = try await free(policy, lfs: lfs)
            #expect(report.evicted.files == 0)
            #expect(report.shortfall == 5_500)
            let one = EvictionReport.Amount(files: 1, byteCount: 1_000)
            #expect(
                report.stays == [
                    .notUploaded: one, .pinned: one, .named: one, .recentlyUsed: one, .inUse: one, .contentType: one,
                ])
            withExtendedLifetime(reading) {}
        }
    }

    @Test("The requests of a policy are evaluated each time, with their order and limit")
    func requests() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(6, host: host, lfs: lfs)
            var policy = EvictionPolicy(maxByteCount: 0)
            policy.keep { FileData.order(FileData.Columns.id.desc).limit(2) }
            policy.keep { FileData.filter(sql: "id IN (SELECT photoId FROM recipe)") }
            let latest = files.map(\.id).sorted().suffix(2)
            let favourite = try #require(files.map(\.id).min())
            try await host.database.write { db in try Recipe(title: "a", photoId: favourite).insert(db) }
            _ = try await free(policy, lfs: lfs)
            #expect(try host.filesInStore() == Set(latest + [favourite]))
            _ = try await host.database.write { db in try Recipe.deleteAll(db) }
            _ = try await free(policy, lfs: lfs)
            #expect(try host.filesInStore() == Set(latest))
        }
    }

    @Test("Eviction keeps the requested space of the disk free", .enabled(if: Machine.canMount, "needs root to mount"))
    func disk() async throws {
        try await withSmallFileSystem(kilobytes: 4_096) { folder in
            try await withLFS(configure: { $0.localStore = folder.appendingPathComponent("store") }) { host, lfs in
                let files = try await keptFiles(12, byteCount: 100_000, host: host, lfs: lfs)
                let store = lfs.places.store
                let before = try store.availableByteCount()
                let aim = before + 250_000
                let report = try await free(EvictionPolicy(minAvailableByteCount: aim), lfs: lfs)
                #expect(report.evicted.files == 3)
                #expect(try store.availableByteCount() >= aim)
                let rest = try await free(EvictionPolicy(minAvailableByteCount: 1 << 30), lfs: lfs)
                #expect(rest.evicted.files == 9)
                #expect(rest.shortfall > 1_000_000_000)
                for file in files { try await #expect(!lfs.hasLocalCopy(of: file.id)) }
            }
        }
    }

    @Test("Evicting everything removes unfinished downloads and all copies but pinned ones")
    func evictAll() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(4, host: host, lfs: lfs)
            try host.leavePartial(of: files[3], someBytes(700), tag: "a")
            try await lfs.pin([files[1].id])
            try await #expect(lfs.isPinned(files[1].id))
            let report = try await lfs.evictAll()
            #expect(report.evicted.files == 3)
            #expect(report.unfinishedByteCount == 700)
            #expect(report.stays[.pinned]?.files == 1)
            #expect(try host.filesInStore() == [files[1].id])
            #expect(try host.namesInIncoming() == [])
        }
    }

    @Test("Evicting everything does not affect a running download")
    func runningDownload() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes(1 << 20)
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            async let reading = read(file, lfs: lfs)
            await storage.waitForArrivals(1)
            try await lfs.evictAll()
            #expect(try host.namesInIncoming() == [file.id.uuidString + ".part"])
            storage.open()
            try await #expect(reading == bytes)
        }
    }

    @Test("A pinned file is not evicted, even by its id, until it is unpinned")
    func pins() async throws {
        try await withLFS { host, lfs in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            try await lfs.pin([file.id])
            #expect(await errorCode { try await lfs.evict(file.id) } == .pinned)
            #expect(await errorCode { try await lfs.pin([file.id, .unknown]) } == .unknownFile)
            try await lfs.unpin([file.id])
            try await #expect(!lfs.isPinned(file.id))
            try await lfs.evict(file.id)
            try await #expect(!lfs.hasLocalCopy(of: file.id))
            #expect(await errorCode { try await lfs.evict(.unknown) } == .unknownFile)
        }
    }

    @Test("A file that replaces a pinned file is pinned in the same transaction")
    func pinsLike() async throws {
        try await withLFS { host, lfs in
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try await lfs.pin([files[0].id])
            try await host.database.write { db in
                try #expect(lfs.pin(files[1].id, like: files[0].id, in: db))
                try #expect(!lfs.pin(files[0].id, like: files[2].id, in: db))
                #expect(throws: LFSError.self) { try lfs.pin(.unknown, like: files[0].id, in: db) }
            }
            try await #expect(lfs.isPinned(files[0].id))
            try await #expect(lfs.isPinned(files[1].id))
            _ = try? await host.database.write { db in
                try lfs.pin(files[2].id, like: files[0].id, in: db)
                throw CancellationError()
            }
            try await #expect(!lfs.isPinned(files[2].id))
        }
    }

    @Test("Eviction is refused after the manager stopped")
    func stopped() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try await lfs.stop()
            #expect(await errorCode { _ = try await lfs.evictAll() } == .notRunning)
            #expect(await errorCode { _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) } == .notRunning)
        }
    }
}
