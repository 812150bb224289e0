import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("Reading a range of a file", .timeLimit(.minutes(10)))
struct RangeTests {
    private let bytes = someBytes(700_000)

    @Test(
        "A range is read from the local copy, or from the storage without leaving a copy",
        arguments: [true, false])
    func parts(_ isLocal: Bool) async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 0, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            if isLocal { _ = try await read(file, lfs: lfs) }
            let before = storage.requests.count
            let parts: [Range<Int>] = [0..<1, 10..<20, 262_140..<524_300, 699_999..<700_000, 0..<700_000]
            for part in parts {
                let range = Int64(part.lowerBound)..<Int64(part.upperBound)
                try await #expect(lfs.bytes(of: file, range: range) == Data(bytes[part]))
            }
            #expect(storage.requests.count - before == (isLocal ? 0 : parts.count))
            #expect(try host.filesInStore().isEmpty == !isLocal)
            #expect(try host.namesInIncoming() == [])
        }
    }

    @Test("A range beyond the end of a file is clipped")
    func beyond() async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            for _ in 1...2 {
                try await #expect(lfs.bytes(of: file, range: 699_990..<800_000) == Data(bytes.suffix(10)))
                try await #expect(lfs.bytes(of: file, range: 700_000..<800_000) == Data())
                try await #expect(lfs.bytes(of: file, range: 5..<5) == Data())
                try await #expect(lfs.bytes(of: file, range: -5..<5) == Data(bytes.prefix(5)))
                _ = try await read(file, lfs: lfs)
            }
        }
    }

    @Test("An interrupted range read continues with the same version")
    func cut() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 1_000, times: 1)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            try await #expect(lfs.bytes(of: file, range: 100..<3_000) == Data(bytes[100..<3_000]))
            #expect(storage.requests.map(\.range) == [100..<3_000, 1_100..<3_000])
            #expect(storage.requests.map(\.entityTag) == [nil, "v1"])
        }
    }

    @Test(
        "A range read with too few or too many bytes fails with `sourceChanged`",
        arguments: [SpoilingStorage.Fault.shorter, .longer, .whole, .empty])
    func wrongCount(_ fault: SpoilingStorage.Fault) async throws {
        let storage = SpoilingStorage(InMemoryStorage(), fault: fault, times: 0)
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            storage.spoil(1)
            #expect(await errorCode { _ = try await lfs.bytes(of: file, range: 100..<200) } == .sourceChanged)
            try await #expect(lfs.bytes(of: file, range: 100..<200) == Data(bytes[100..<200]))
            try #expect(host.count("lfs_job WHERE errorCode = 'damaged'") == 1, "a range does not prove the object")
        }
    }

    @Test("A range read of an object of another size fails with `sourceChanged`")
    func wrongSize() async throws {
        let memory = InMemoryStorage()
        try await withLFS(storage: memory, expectsLeftovers: true) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            let other = try UploadSource.temporary(bytes + [1])
            _ = try await memory.upload(other, to: ObjectKey(file.key), session: UploadSession())
            #expect(await errorCode { _ = try await lfs.bytes(of: file, range: 100..<200) } == .sourceChanged)
            try #expect(host.count("lfs_job WHERE errorCode = 'damaged'") == 1)
        }
    }

    @Test("A range read ends with its task and is nil before another device uploads")
    func ends() async throws {
        let gate = GatedStorage(InMemoryStorage(), on: [.download])
        try await withLFS(storage: gate) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            let reader = Task { try await lfs.bytes(of: file, range: 0..<10) }
            await gate.waitForArrivals(1)
            reader.cancel()
            #expect(await errorCode { _ = try await reader.value } == .cancelled)
            // The reader ends at once and does not wait for the storage.
            try await yield(while: !gate.waiting.isEmpty)
            gate.open()
            try await withLFS(storage: gate) { other, otherLFS in
                try await other.database.write { db in
                    var row = file
                    row.name = "as it was before its upload"
                    try row.insert(db)
                }
                try await #expect(otherLFS.bytes(of: file, range: 0..<10) == nil)
                try await #expect(otherLFS.contents(of: file) == nil)
            }
        }
    }
}
