import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("Prefetching", .timeLimit(.minutes(10)))
struct PrefetchTests {
    @Test("A prefetch downloads the missing files of a request and returns a summary")
    func summary() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 0, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let contents = (0..<30).map { _ in someBytes(100) }
            let files = try await remoteFiles(contents, host: host, lfs: lfs)
            _ = try await read(files[3], lfs: lfs)
            lfs.pause()
            let local = try await lfs.makeFile(from: .bytes([1]))
            try await host.database.write { try local.insert($0) }
            let summary = try await lfs.prefetch(FileData.order(Column.rowID).limit(20))
            #expect(summary.fetched == 19)
            #expect(summary.fetchedBytes == 1_900)
            #expect(summary.alreadyHere == 1)
            #expect(summary.failed == 0)
            #expect(try host.filesInStore().subtracting([local.id]) == Set(files.prefix(20).map(\.id)))
            let before = storage.requests.count
            for (file, bytes) in zip(files.prefix(20), contents) { try await #expect(read(file, lfs: lfs) == bytes) }
            #expect(storage.requests.count == before, "prefetched files need no network")
            lfs.resume()
        }
    }

    @Test("A prefetch continues after a file that fails, and reports it")
    func failure() async throws {
        let memory = InMemoryStorage()
        try await withLFS(storage: memory) { host, lfs in
            let files = try await remoteFiles((0..<10).map { _ in someBytes(100) }, host: host, lfs: lfs)
            try await memory.delete(ObjectKey(files[4].key), abandoning: nil)
            let summary = try await lfs.prefetch(FileData.all())
            #expect(summary.fetched == 9)
            #expect(summary.failed == 1)
            #expect(summary.failures.map(\.fileID) == [files[4].id])
            #expect(summary.failures.map(\.code) == [.storage])
        }
    }

    @Test("A prefetch yields to readers, and a reader takes over the download of its file")
    func givesWay() async throws {
        let gate = GatedStorage(InMemoryStorage(), on: [.download])
        let storage = CuttingStorage(gate, after: 0, times: 0)
        try await withLFS(storage: storage, configure: { $0.maxDownloads = 2 }) { host, lfs in
            let contents = (0..<6).map { _ in someBytes(100) }
            let files = try await remoteFiles(contents, host: host, lfs: lfs)
            let keys = try files.map { try ObjectKey($0.key) }
            async let summary = lfs.prefetch(FileData.filter(keys: files.prefix(5).map(\.id)).order(Column.rowID))
            await gate.waitForArrivals(2)
            #expect(Set(gate.arrivals) == [keys[0], keys[1]])

            // Both places are taken, but a reader does not wait for a prefetch.
            async let other = read(files[5], lfs: lfs)
            await gate.waitForArrivals(3)
            #expect(gate.arrivals.last == keys[5])
            async let waiting = read(files[4], lfs: lfs)
            await gate.waitForArrivals(4)
            #expect(gate.arrivals.last == keys[4], "a reader's file comes before earlier prefetches")
            async let same = read(files[0], lfs: lfs)
            gate.pass(keys[1])
            gate.pass(keys[5])
            try await #expect(other == contents[5])
            #expect(gate.arrivals.count == 4, "nothing is prefetched while readers wait")
            gate.open()
            try await #expect(same == contents[0])
            try await #expect(waiting == contents[4])
            try await #expect(summary.fetched == 5)
            #expect(storage.requests.count == 6, "each file was downloaded once")
        }
    }

    @Test("A cancelled prefetch ends and keeps the files that it has")
    func cancelled() async throws {
        let gate = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: gate, configure: { $0.maxDownloads = 1 }) { host, lfs in
            let files = try await remoteFiles((0..<5).map { _ in someBytes(100) }, host: host, lfs: lfs)
            let prefetch = Task { try await lfs.prefetch(FileData.order(Column.rowID)) }
            await gate.waitForArrivals(1)
            gate.pass(try ObjectKey(files[0].key))
            await gate.waitForArrivals(2)
            prefetch.cancel()
            #expect(await errorCode { _ = try await prefetch.value } == .cancelled)
            // No caller waits for the download any more. It ends in its own task.
            try await yield(while: !gate.waiting.isEmpty)
            // The bytes that had arrived when the next download started are still written to disk.
            try await yield(while: try host.filesInStore().isEmpty)
            #expect(try host.filesInStore() == [files[0].id])
            gate.open()
        }
    }

    @Test("Uploads run one at a time while a reader downloads")
    func uploadsYield() async throws {
        let downloads = GatedStorage(InMemoryStorage(), on: [.download])
        let uploads = GatedStorage(downloads, isOpen: true)
        try await withLFS(storage: uploads) { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            let before = uploads.arrivals.count
            uploads.close()
            async let contents = read(file, lfs: lfs)
            await downloads.waitForArrivals(1)
            let made = try await withThrowingTaskGroup(of: FileData.self) { tasks in
                for _ in 0..<30 { tasks.addTask { try await lfs.makeFile(from: .bytes(someBytes(10))) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            try await host.database.write { db in for file in made { try file.insert(db) } }
            for count in 1...10 {
                await uploads.waitForArrivals(before + count)
                #expect(uploads.waiting.count == 1, "one upload at a time")
                uploads.pass(uploads.waiting[0])
            }
            downloads.open()
            try await #expect(contents != nil)
            await uploads.waitForArrivals(before + 14)
            #expect(uploads.waiting.count > 1, "more uploads after the reader has its file")
            uploads.open()
        }
    }
}
