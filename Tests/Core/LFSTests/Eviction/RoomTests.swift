import Foundation
import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFS

@Suite("Automatic eviction", .timeLimit(.minutes(10)))
struct RoomTests {
    @Test(
        "Reading ten times the byte limit never exceeds it and keeps the last read copies",
        arguments: [false, true])
    func loop(_ isOpenedAgain: Bool) async throws {
        try await withHost { host in
            var options = host.options
            // Uses are recorded in milliseconds, which determine the order of the uses before a restart.
            let time = TestTime(Date().addingTimeInterval(3_600))
            options.wallClock = { time.tick() }
            var files: [FileData] = []
            try await withManager(host, options: options) { lfs in
                files = try await absentFiles(30, host: host, lfs: lfs)
            }
            options.eviction = EvictionPolicy(maxByteCount: 3_000)
            var order: [FileData.ID] = []
            for turn in 0..<2 {
                try await withManager(host, options: options) { lfs in
                    for step in 0..<60 {
                        // Every other read is of one of the last five files, so that uses and arrivals have different
                        // orders.
                        let file =
                            step % 2 == 0
                            ? files[(step / 2 + turn) % 30] : files[(step / 2 + turn + 25 + step % 5) % 30]
                        try await #expect(read(file, lfs: lfs)?.count == 1_000)
                        order.removeAll { $0 == file.id }
                        order.append(file.id)
                        #expect(try host.byteCountInStore() <= 3_000)
                        #expect(try host.filesInStore() == Set(order.suffix(3)))
                    }
                }
                if !isOpenedAgain { break }
            }
        }
    }

    @Test("Concurrent downloads free disk space before their bytes arrive")
    func beside() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download], isOpen: true)
        try await withHost(storage: storage) { host in
            var options = host.options
            var files: [FileData] = []
            try await withManager(host, options: options) { lfs in
                files = try await absentFiles(8, host: host, lfs: lfs)
            }
            options.eviction = EvictionPolicy(maxByteCount: 4_000)
            try await withManager(host, options: options) { lfs in
                for file in files.prefix(4) { _ = try await read(file, lfs: lfs) }
                storage.close()
                let (next, count) = (files[4..<7], storage.arrivals.count)
                async let reads = withThrowingTaskGroup(of: Int.self) { tasks in
                    for file in next { tasks.addTask { try await read(file, lfs: lfs)?.count ?? -1 } }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
                await storage.waitForArrivals(count + 3)
                #expect(try host.filesInStore() == [files[3].id], "the space for all three is free while they wait")
                storage.open()
                try await #expect(reads == [1_000, 1_000, 1_000])
                #expect(try host.filesInStore() == Set(files[3..<7].map(\.id)))
            }
        }
    }

    @Test("A reader gets its bytes even if the limit allows no copy")
    func noBudget() async throws {
        try await withHost { host in
            var options = host.options
            var files: [FileData] = []
            try await withManager(host, options: options) { lfs in
                files = try await absentFiles(40, host: host, lfs: lfs)
            }
            options.eviction = EvictionPolicy(maxByteCount: 0)
            try await withManager(host, options: options) { [files] lfs in
                try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for file in files + files { tasks.addTask { try await read(file, lfs: lfs)?.count ?? -1 } }
                    for try await count in tasks { #expect(count == 1_000) }
                }
                lfs.places.ledger.changed.notify()
                try await yield(while: !host.filesInStore().isEmpty)
            }
        }
    }

    @Test("A copy above the limit is evicted once it is uploaded and not pinned")
    func uploads() async throws {
        let storage = GatedStorage(InMemoryStorage())
        try await withLFS(storage: storage, configure: { $0.eviction = EvictionPolicy(maxByteCount: 1_000) }) {
            host, lfs in
            var files: [FileData] = []
            for _ in 0..<4 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
            let made = files
            try await host.database.write { db in for file in made { try file.insert(db) } }
            try await lfs.pin([files[0].id])
            await storage.waitForArrivals(1)
            try await yield(while: host.filesInStore().count < 4)
            await lfs.automaticEviction.makeRoomIfPossible()
            #expect(try host.filesInStore() == Set(files.map(\.id)), "files that are not uploaded stay with any budget")
            storage.open()
            try await yield(while: host.filesInStore() != [files[0].id])
            _ = try await lfs.contents(of: files[1])
            try await yield(while: host.filesInStore() != [files[0].id])
            try await lfs.unpin([files[0].id])
            _ = try await read(files[2], lfs: lfs)
            #expect(try host.filesInStore() == [files[2].id])
        }
    }

    @Test("A copy that is being read is skipped without repeated attempts")
    func inUse() async throws {
        try await withLFS(configure: { $0.eviction = EvictionPolicy(maxByteCount: 1_000) }) { host, lfs in
            let files = try await remoteFiles([someBytes(), someBytes()], host: host, lfs: lfs)
            let contents = try await lfs.contents(of: files[0])
            _ = try await read(files[1], lfs: lfs)
            #expect(try host.filesInStore().contains(files[0].id))
            await lfs.automaticEviction.makeRoomIfPossible()
            // A loop that wakes itself would never wait. The time limit of the suite would end it.
            try await yield(while: !lfs.places.ledger.changed.isAwaited)
            let barrier = try self.barrier(host)
            lfs.places.ledger.changed.notify()
            try await yield(while: !lfs.places.ledger.changed.isAwaited)
            #expect(try self.barrier(host) - barrier <= 1)
            withExtendedLifetime(contents) {}
        }
    }

    private func barrier(_ host: TestHost) throws -> Int {
        try host.database.read { try Int.fetchOne($0, sql: "SELECT barrier FROM lfs_state") ?? -1 }
    }

    @Test("Copies of another process count after the next scan of the folder")
    func otherProcess() async throws {
        try await withHost { host in
            var options = host.options
            let other = try host.otherDatabase()
            options.eviction = EvictionPolicy(maxByteCount: 1_500)
            options.evictionInterval = .milliseconds(5)
            try await withManager(host, options: options) { lfs in
                let files = try await absentFiles(5, host: host, lfs: lfs)
                try await withManager(host, options: host.options, on: other) { second in
                    for file in files { _ = try await read(file, lfs: second) }
                    try await yield(while: host.filesInStore().count > 1)
                }
            }
            try other.close()
        }
    }

    @Test(
        "The bytes of a running download are not counted twice against free disk space",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func freeDisk() async throws {
        try await withSmallFileSystem(kilobytes: 6 << 10) { folder in
            try await withHost(in: folder) { host in
                var options = host.options
                options.eviction = EvictionPolicy(minAvailableByteCount: 1 << 20)
                try await withManager(host, options: options) { lfs in
                    let kept = Set(try await keptFiles(2, byteCount: 512 << 10, host: host, lfs: lfs).map(\.id))
                    let part = host.store.appendingPathComponent("incoming/part")
                    let available = try lfs.places.store.availableByteCount()
                    // The disk has room for these bytes, but not for twice as many.
                    let byteCount = available - (1 << 20) - (64 << 10)
                    try await lfs.automaticEviction.withRoom(for: FileID.make(), byteCount) { onBytes in
                        // Writes in pieces, as a download does. A check in between counts at most one piece twice.
                        try Data().write(to: part)
                        let file = try FileHandle(forWritingTo: part)
                        for come in stride(from: 0, to: byteCount, by: 32 << 10) {
                            try file.write(contentsOf: Data(count: Int(min(32 << 10, byteCount - come))))
                            onBytes(min(come + (32 << 10), byteCount))
                        }
                        try file.close()
                        await lfs.automaticEviction.makeRoomIfPossible()
                        try #expect(host.filesInStore() == kept)
                        try FileManager.default.removeItem(at: part)
                    }
                    // Without these bytes on the disk, the manager has to free space for them.
                    try await lfs.automaticEviction.withRoom(for: FileID.make(), byteCount + (256 << 10)) { _ in
                        try #expect(host.filesInStore().count == 1)
                    }
                }
            }
        }
    }

    @Test("A reader does not wait for a scan of the folder")
    func laterLook() async throws {
        try await withHost { host in
            var options = host.options
            let isBlocking = Mutex(false)
            let (blocked, goOn) = (Latch(), DispatchSemaphore(value: 0))
            options.eviction = EvictionPolicy(maxByteCount: 10_000)
            options.eviction.keep {
                if isBlocking.withLock({ $0 }) {
                    blocked.open()
                    // A reader that waited for this scan would wait forever.
                    if goOn.wait(timeout: .now() + 600) == .timedOut { Issue.record("a reader waits for the scan") }
                }
                return FileData.none()
            }
            try await withManager(host, options: options) { lfs in
                let files = try await absentFiles(2, host: host, lfs: lfs)
                _ = try await read(files[0], lfs: lfs)
                isBlocking.withLock { $0 = true }
                async let refilled: Void = lfs.automaticEviction.refill()
                await blocked.wait()
                isBlocking.withLock { $0 = false }
                try await #expect(read(files[1], lfs: lfs)?.count == 1_000)
                goOn.signal()
                await refilled
                #expect(lfs.places.ledger.count == 2)
            }
        }
    }

    @Test("Deleted files no longer count against the limit")
    func deletions() async throws {
        try await withLFS(configure: { $0.eviction = EvictionPolicy(maxByteCount: 3_000) }) { host, lfs in
            let files = try await absentFiles(5, host: host, lfs: lfs)
            for file in files.prefix(3) { _ = try await read(file, lfs: lfs) }
            _ = try await host.database.write { db in try files[0].delete(db) }
            try await lfs.waitForDeletions()
            _ = try await read(files[3], lfs: lfs)
            #expect(try host.filesInStore() == Set(files[1..<4].map(\.id)))
            #expect(lfs.places.ledger.byteCounts == (3_000, 0, 0))
        }
    }

    @Test("A failed download releases its reserved bytes")
    func failure() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.download], times: 0, with: StorageError(.forbidden, message: "no"))
        try await withLFS(storage: storage, configure: { $0.eviction = EvictionPolicy(maxByteCount: 3_000) }) {
            host, lfs in
            let file = try await absentFiles(1, host: host, lfs: lfs)[0]
            try await (storage.base as? InMemoryStorage)?.delete(try ObjectKey(file.key), abandoning: nil)
            #expect(await errorCode { _ = try await read(file, lfs: lfs) } == .storage)
            #expect(lfs.places.ledger.byteCounts == (0, 0, 0))
        }
    }
}
