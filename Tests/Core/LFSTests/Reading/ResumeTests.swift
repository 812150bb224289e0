import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@Suite("Interrupted downloads", .timeLimit(.minutes(10)))
struct ResumeTests {
    private static let mebibyte = 1 << 20
    private static let sample = someBytes(3 * mebibyte)
    private let bytes = ResumeTests.sample

    @Test("An interrupted download continues in the same call with the same version")
    func sameCall() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte), times: 2)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try await #expect(read(file, lfs: lfs) == bytes)
            let (one, two, three) = (Int64(Self.mebibyte), Int64(2 * Self.mebibyte), Int64(3 * Self.mebibyte))
            #expect(storage.requests.map(\.range) == [nil, one..<three, two..<three])
            #expect(storage.requests.map(\.entityTag) == [nil, "v1", "v1"])
            #expect(storage.sentBytes == three)
        }
    }

    @Test("A download continues after any number of interruptions while it makes progress")
    func manyCuts() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 200_000)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try await #expect(read(file, lfs: lfs) == bytes)
            #expect(storage.sentBytes == Int64(bytes.count))
            #expect(storage.requests.count == (bytes.count + 199_999) / 200_000)
        }
    }

    @Test("A download ends after four attempts without progress and keeps its bytes")
    func givesUp() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte)) { attempt in
            if (2...5).contains(attempt) { throw StorageError(.timeout, message: "Down.") }
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            #expect(await errorCode { _ = try await read(file, lfs: lfs) } == .storage)
            #expect(storage.requests.count == 5)
            try #expect(host.namesInIncoming() == ["\(file.id).part", "\(file.id).tag"])
            try await #expect(read(file, lfs: lfs) == bytes)
            #expect(storage.sentBytes == Int64(bytes.count))
            try #expect(host.namesInIncoming() == [])
        }
    }

    /// Leaves the first mebibyte and stops the manager, as at the end of a process.
    private func cut(_ host: TestHost, storage: any RemoteStorage) async throws -> FileData {
        var file: FileData?
        let reached = Gate()
        var options = host.options
        options.storage = CuttingStorage(storage, after: Int64(Self.mebibyte)) { attempt in
            if attempt == 2 { try await reached.pass() }
        }
        try await withManager(host, options: options) { lfs in
            let remote = try await remoteFile(bytes, host: host, lfs: lfs)
            file = remote
            let reader = Task { try await read(remote, lfs: lfs) }
            await reached.reached.wait()
            reader.cancel()
            #expect(await errorCode { _ = try await reader.value } == .cancelled)
        }
        return try #require(file)
    }

    @Test("The next process downloads only the missing bytes")
    func nextProcess() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, storage: memory)
            try #expect(host.namesInIncoming() == ["\(file.id).part", "\(file.id).tag"])
            let storage = CuttingStorage(memory, after: 0, times: 0)
            var options = host.options
            options.storage = storage
            try await withManager(host, options: options) { lfs in
                try await #expect(read(file, lfs: lfs) == bytes)
                #expect(storage.requests.map(\.range) == [Int64(Self.mebibyte)..<Int64(bytes.count)])
                #expect(storage.sentBytes == Int64(2 * Self.mebibyte))
                try #expect(host.namesInIncoming() == [])
            }
        }
    }

    @Test("A download starts over if the object was replaced")
    func replaced() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, storage: memory)
            let again = try UploadSource.temporary(bytes)
            _ = try await memory.upload(again, to: ObjectKey(file.key), session: UploadSession())
            let storage = CuttingStorage(memory, after: 0, times: 0)
            var options = host.options
            options.storage = storage
            try await withManager(host, options: options) { lfs in
                try await #expect(read(file, lfs: lfs) == bytes)
                #expect(storage.requests.map(\.entityTag) == ["v1", nil])
                #expect(storage.requests.map { $0.range == nil } == [false, true])
            }
        }
    }

    @Test("A download starts over if the storage reports no versions")
    func noVersions() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte), times: 1, tellsVersion: false)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try await #expect(read(file, lfs: lfs) == bytes)
            #expect(storage.requests.map(\.range) == [nil, nil])
        }
    }

    @Test("A download without versions ends after interruptions at the same byte")
    func noVersionsNoEnd() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 100_000, tellsVersion: false) { attempt in
            if attempt > 20 { throw StorageError(.forbidden, message: "It has no end.") }
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            #expect(await errorCode { _ = try await read(file, lfs: lfs) } == .storage)
            // The first attempt made progress. The four others did not get further.
            #expect(storage.requests.count == 5)
        }
    }

    @Test("A partial download is removed when it is old or its row is deleted", arguments: [true, false])
    func swept(_ isDeleted: Bool) async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, storage: memory)
            var options = host.options
            if isDeleted {
                try await host.database.write { _ = try file.delete($0) }
            } else {
                options.wallClock = { Date(timeIntervalSinceNow: 6 * 24 * 3_600) }
                try await withManager(host, options: options, starts: false) { _ in }
                try #expect(host.namesInIncoming().count == 2)
                options.wallClock = { Date(timeIntervalSinceNow: 8 * 24 * 3_600) }
            }
            try await withManager(host, options: options, starts: false) { _ in }
            try #expect(host.namesInIncoming() == [])
        }
    }

    @Test("Deleting a file removes its partial download")
    func deletion() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, storage: memory)
            try await withManager(host) { lfs in
                try await host.database.write { _ = try file.delete($0) }
                try await lfs.waitForDeletions()
                try #expect(host.namesInIncoming() == [])
            }
        }
    }
}
