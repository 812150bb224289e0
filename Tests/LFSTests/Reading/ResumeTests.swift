import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@Suite("A download that is cut off", .timeLimit(.minutes(10)))
struct ResumeTests {
    private static let mebibyte = 1 << 20
    private static let sample = someBytes(3 * mebibyte)
    private let bytes = ResumeTests.sample

    @Test("goes on in the same call, with the version that it began with")
    func sameCall() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte), times: 2)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            try await #expect(read(file, lfs) == bytes)
            let (one, two, three) = (Int64(Self.mebibyte), Int64(2 * Self.mebibyte), Int64(3 * Self.mebibyte))
            #expect(storage.requests.map(\.range) == [nil, one..<three, two..<three])
            #expect(storage.requests.map(\.entityTag) == [nil, "v1", "v1"])
            #expect(storage.sentBytes == three)
        }
    }

    @Test("goes on as often as it takes, while each try brings something")
    func manyCuts() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 200_000)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            try await #expect(read(file, lfs) == bytes)
            #expect(storage.sentBytes == Int64(bytes.count))
            #expect(storage.requests.count == (bytes.count + 199_999) / 200_000)
        }
    }

    @Test("ends after four tries that bring nothing, and keeps what it has")
    func givesUp() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte)) { attempt in
            if (2...5).contains(attempt) { throw StorageError(.timeout, "Down.") }
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            #expect(await errorCode { _ = try await read(file, lfs) } == .storage)
            #expect(storage.requests.count == 5)
            try #expect(host.namesInIncoming() == ["\(file.id).part", "\(file.id).tag"])
            try await #expect(read(file, lfs) == bytes)
            #expect(storage.sentBytes == Int64(bytes.count))
            try #expect(host.namesInIncoming() == [])
        }
    }

    /// Leaves the first mebibyte and ends the manager, as a process does that ends.
    private func cut(_ host: TestHost, _ storage: any RemoteStorage) async throws -> FileData {
        var file: FileData?
        let reached = Gate()
        var options = host.options
        options.storage = CuttingStorage(storage, after: Int64(Self.mebibyte)) { attempt in
            if attempt == 2 { try await reached.pass() }
        }
        try await withManager(host, options) { lfs in
            let remote = try await remoteFile(bytes, host, lfs)
            file = remote
            let reader = Task { try await read(remote, lfs) }
            await reached.reached.wait()
            reader.cancel()
            #expect(await errorCode { _ = try await reader.value } == .cancelled)
        }
        return try #require(file)
    }

    @Test("goes on in the next process with the bytes that are missing, and no others")
    func nextProcess() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, memory)
            try #expect(host.namesInIncoming() == ["\(file.id).part", "\(file.id).tag"])
            let storage = CuttingStorage(memory, after: 0, times: 0)
            var options = host.options
            options.storage = storage
            try await withManager(host, options) { lfs in
                try await #expect(read(file, lfs) == bytes)
                #expect(storage.requests.map(\.range) == [Int64(Self.mebibyte)..<Int64(bytes.count)])
                #expect(storage.sentBytes == Int64(2 * Self.mebibyte))
                try #expect(host.namesInIncoming() == [])
            }
        }
    }

    @Test("begins again when the object was replaced meanwhile")
    func replaced() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, memory)
            let again = try UploadSource.temporary(bytes)
            _ = try await memory.upload(again, to: ObjectKey(file.key), session: UploadSession())
            let storage = CuttingStorage(memory, after: 0, times: 0)
            var options = host.options
            options.storage = storage
            try await withManager(host, options) { lfs in
                try await #expect(read(file, lfs) == bytes)
                #expect(storage.requests.map(\.entityTag) == ["v1", nil])
                #expect(storage.requests.map { $0.range == nil } == [false, true])
            }
        }
    }

    @Test("begins again at the first byte when the storage does not tell its versions")
    func noVersions() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: Int64(Self.mebibyte), times: 1, tellsVersion: false)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            try await #expect(read(file, lfs) == bytes)
            #expect(storage.requests.map(\.range) == [nil, nil])
        }
    }

    @Test("ends when a storage that does not tell its versions breaks off at the same byte again and again")
    func noVersionsNoEnd() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 100_000, tellsVersion: false) { attempt in
            if attempt > 20 { throw StorageError(.forbidden, "It has no end.") }
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            #expect(await errorCode { _ = try await read(file, lfs) } == .storage)
            // The first one got further than any before; then four that did not.
            #expect(storage.requests.count == 5)
        }
    }

    @Test("is removed when its row is gone, or when nobody went on with it for long", arguments: [true, false])
    func swept(_ isDeleted: Bool) async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, memory)
            var options = host.options
            if isDeleted {
                try await host.database.write { _ = try file.delete($0) }
            } else {
                options.wallClock = { Date(timeIntervalSinceNow: 6 * 24 * 3_600) }
                try await withManager(host, options, starts: false) { _ in }
                try #expect(host.namesInIncoming().count == 2)
                options.wallClock = { Date(timeIntervalSinceNow: 8 * 24 * 3_600) }
            }
            try await withManager(host, options, starts: false) { _ in }
            try #expect(host.namesInIncoming() == [])
        }
    }

    @Test("goes with the deletion of its file")
    func deletion() async throws {
        let memory = InMemoryStorage()
        try await withHost(storage: memory) { host in
            let file = try await cut(host, memory)
            try await withManager(host) { lfs in
                try await host.database.write { _ = try file.delete($0) }
                try await lfs.waitForDeletions()
                try #expect(host.namesInIncoming() == [])
            }
        }
    }
}
