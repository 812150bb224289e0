import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Downloads of wrong bytes", .timeLimit(.minutes(10)))
struct WrongBytesTests {
    private static let sample = someBytes(1_300_000)
    private let bytes = WrongBytesTests.sample

    @Test(
        "Wrong bytes fail with `sourceChanged`, are not kept, and can be read again",
        arguments: [SpoilingStorage.Fault.flipped, .shorter, .longer, .empty], [1_300_000, 10_000])
    func fresh(_ fault: SpoilingStorage.Fault, count: Int) async throws {
        let bytes = Array(bytes.prefix(count))
        let storage = SpoilingStorage(InMemoryStorage(), fault: fault, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            for _ in 0..<10 {
                storage.spoil(1)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
                try #expect(host.filesInStore().isEmpty)
                try #expect(host.namesInIncoming() == [])
                #expect(storage.requests.count == 1)
            }
            try await #expect(read(file, lfs: lfs) == bytes)
        }
    }

    @Test(
        "Wrong bytes in a resumed download make it start over once",
        arguments: SpoilingStorage.Fault.allCases)
    func resumed(_ fault: SpoilingStorage.Fault) async throws {
        let storage = SpoilingStorage(InMemoryStorage(), fault: fault, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            for _ in 0..<10 {
                try host.leavePartial(of: file, bytes.prefix(1_200_000), tag: "v1")
                storage.spoil(1)
                try await #expect(read(file, lfs: lfs) == bytes)
                #expect(storage.requests.map { $0.range == nil } == [false, true])
                try #expect(host.namesInIncoming() == [])
                try await lfs.evict(file.id)
            }
            // A second spoiled download is an error, so that the download does not loop forever.
            guard fault != .whole, fault != .refused else { return }
            try host.leavePartial(of: file, bytes.prefix(1_200_000), tag: "v1")
            storage.spoil(.max)
            #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
            #expect(storage.requests.count == 2)
            try #expect(host.namesInIncoming() == [])
            storage.spoil(0)
            try await #expect(read(file, lfs: lfs) == bytes)
        }
    }

    @Test("A flipped bit in a partial download is detected and makes it start over")
    func bitRot() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 0, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host: host, lfs: lfs)
            for round in 1...100 {
                var rotten = Array(bytes.prefix(Int.random(in: 1..<bytes.count)))
                let bit = Int.random(in: 0..<8 * rotten.count)
                rotten[bit / 8] ^= 1 << UInt8(bit % 8)
                try host.leavePartial(of: file, rotten, tag: "v1")
                try await #expect(read(file, lfs: lfs) == bytes, "bit \(bit) of \(rotten.count) bytes")
                #expect(storage.requests.count == 2 * round, "the rest was downloaded, and then the whole object")
                try #expect(host.namesInIncoming() == [])
                try await lfs.evict(file.id)
            }
        }
    }
}
