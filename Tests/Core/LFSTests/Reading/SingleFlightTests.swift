import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("Concurrent readers of a file", .timeLimit(.minutes(10)))
struct SingleFlightTests {
    /// Returns the bytes that each of several concurrent readers receives.
    private func readAll(_ files: [FileData], readers: Int, lfs: LFSManager) async throws -> [FileData.ID:
        [[UInt8]]]
    {
        try await withThrowingTaskGroup(of: (FileData.ID, [UInt8]).self) { tasks in
            // All readers of a file start together. Otherwise the later ones would find the local copy.
            for file in files {
                for _ in 0..<readers { tasks.addTask { (file.id, try await read(file, lfs: lfs) ?? []) } }
            }
            var found: [FileData.ID: [[UInt8]]] = [:]
            for try await (id, bytes) in tasks { found[id, default: []].append(bytes) }
            return found
        }
    }

    @Test("Concurrent readers share one download, and all receive the right bytes")
    func once() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 0, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let contents = (0..<60).map { someBytes($0 == 0 ? 0 : $0 % 20 == 1 ? 1_500_000 : 5_000) }
            let files = try await remoteFiles(contents, host: host, lfs: lfs)
            let found = try await readAll(files, readers: 8, lfs: lfs)
            for (file, bytes) in zip(files, contents) {
                #expect(found[file.id] == Array(repeating: bytes, count: 8))
            }
            let keys = storage.requests.map(\.key.rawValue)
            #expect(keys.sorted() == files.filter { $0.byteCount > 0 }.map(\.key).sorted())
            try #expect(host.namesInIncoming() == [])
        }
    }

    @Test("A reader that leaves does not disturb the other readers")
    func oneGoes() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            let going = Task { try await read(file, lfs: lfs) }
            await storage.waitForArrivals(1)
            async let staying = read(file, lfs: lfs)
            going.cancel()
            #expect(await errorCode { _ = try await going.value } == .cancelled)
            storage.open()
            try await #expect(staying == bytes)
        }
    }

    @Test("A download stops when its last reader leaves, and can start again")
    func allGo() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            let readers = (0..<3).map { _ in Task { try await read(file, lfs: lfs) } }
            await storage.waitForArrivals(1)
            for reader in readers { reader.cancel() }
            for reader in readers { #expect(await errorCode { _ = try await reader.value } == .cancelled) }
            // The readers end at once and do not wait for the storage.
            try await yield(while: !storage.waiting.isEmpty)
            storage.open()
            try await #expect(read(file, lfs: lfs) == bytes)
            try #expect(host.namesInIncoming() == [])
        }
    }

    @Test("Readers need no start, and stopping the manager ends all of them")
    func stopping() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download])
        try await withHost(storage: storage) { host in
            let bytes = someBytes()
            var files: [FileData] = []
            try await withManager(host) { lfs in files = try await remoteFiles([bytes, bytes], host: host, lfs: lfs) }
            let (first, second) = (files[0], files[1])
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let readers = (0..<3).map { number in Task { try await read(number == 0 ? first : second, lfs: lfs) } }
            await storage.waitForArrivals(2)
            let key = try ObjectKey(first.key)
            #expect(storage.pass(key))
            try await #expect(readers[0].value == bytes)
            try await lfs.stop()
            #expect(storage.waiting.isEmpty)
            for reader in readers.dropFirst() {
                #expect(await errorCode { _ = try await reader.value } == .notRunning)
            }
            try #expect(host.namesInIncoming() == [])
            #expect(await errorCode { _ = try await read(second, lfs: lfs) } == .notRunning)
            try await #expect(read(first, lfs: lfs) == bytes, "a local file is read without the stopped manager")
        }
    }

    @Test("Deleting a file during its download leaves nothing of it")
    func deleted() async throws {
        let storage = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            let reader = Task { try await read(file, lfs: lfs) }
            await storage.waitForArrivals(1)
            // The storage has sent its response before it receives the deletion.
            try await host.database.write { _ = try FileData.deleteAll($0) }
            storage.open()
            let code = await errorCode { _ = try await reader.value }
            #expect(code == .unknownFile || code == .storage)
            try await lfs.waitForDeletions()
            try #expect(host.filesInStore().isEmpty)
            try #expect(host.namesInIncoming() == [])
        }
    }
}
