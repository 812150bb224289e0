import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Bytes that are not the recorded ones", .timeLimit(.minutes(10)))
struct WrongBytesTests {
    private static let sample = someBytes(1_300_000)
    private let bytes = WrongBytesTests.sample

    @Test(
        "are an error, nobody sees them, and the next try has the right ones",
        arguments: [SpoilingStorage.Fault.flipped, .shorter, .longer, .empty], [1_300_000, 10_000])
    func fresh(_ fault: SpoilingStorage.Fault, _ count: Int) async throws {
        let bytes = Array(bytes.prefix(count))
        let storage = SpoilingStorage(InMemoryStorage(), fault, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            for _ in 0..<10 {
                storage.spoil(1)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
                try #expect(host.filesInStore().isEmpty)
                try #expect(host.namesInIncoming() == [])
                #expect(storage.requests.count == 1)
            }
            try await #expect(read(file, lfs) == bytes)
        }
    }

    @Test(
        "on the way of a download that is gone on with make it begin again, once",
        arguments: SpoilingStorage.Fault.allCases)
    func resumed(_ fault: SpoilingStorage.Fault) async throws {
        let storage = SpoilingStorage(InMemoryStorage(), fault, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            for _ in 0..<10 {
                try host.leavePartial(of: file, bytes.prefix(1_200_000), tag: "v1")
                storage.spoil(1)
                try await #expect(read(file, lfs) == bytes)
                #expect(storage.requests.map { $0.range == nil } == [false, true])
                try #expect(host.namesInIncoming() == [])
                try await lfs.evict(file.id)
            }
            // Spoiled twice is an error, not an endless loop.
            guard fault != .whole, fault != .refused else { return }
            try host.leavePartial(of: file, bytes.prefix(1_200_000), tag: "v1")
            storage.spoil(.max)
            #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
            #expect(storage.requests.count == 2)
            try #expect(host.namesInIncoming() == [])
            storage.spoil(0)
            try await #expect(read(file, lfs) == bytes)
        }
    }

    @Test("in what an earlier try has left are found out, whichever bit of it is flipped")
    func bitRot() async throws {
        let storage = CuttingStorage(InMemoryStorage(), after: 0, times: 0)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await remoteFile(bytes, host, lfs)
            for round in 1...100 {
                var rotten = Array(bytes.prefix(Int.random(in: 1..<bytes.count)))
                let bit = Int.random(in: 0..<8 * rotten.count)
                rotten[bit / 8] ^= 1 << UInt8(bit % 8)
                try host.leavePartial(of: file, rotten, tag: "v1")
                try await #expect(read(file, lfs) == bytes, "bit \(bit) of \(rotten.count) bytes")
                #expect(storage.requests.count == 2 * round, "the rest was fetched, and then the whole")
                try #expect(host.namesInIncoming() == [])
                try await lfs.evict(file.id)
            }
        }
    }
}
