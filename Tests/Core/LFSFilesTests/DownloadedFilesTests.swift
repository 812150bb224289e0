import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Downloads of small files", .timeLimit(.minutes(10)))
struct DownloadedFilesTests {
    private struct Sample: Sendable {
        let id = FileID.make()
        let bytes: [UInt8]
    }

    private func samples(_ count: Int, bytes: Int = 10_000) -> [Sample] {
        (0..<count).map { number in
            Sample(bytes: [UInt8(truncatingIfNeeded: number)] + SampleBytes.make(max(bytes - 1, 0)))
        }
    }

    private func arrive(_ sample: Sample, in store: LocalStore) async throws {
        let file = try IncomingFile(sample.id, byteCount: Int64(sample.bytes.count), in: store)
        try sample.bytes.withUnsafeBytes { try file.write($0) }
        try await file.finish(sha256: SampleBytes.sha256(sample.bytes))
    }

    /// Downloads all samples at once. Returns those that were kept, and the errors of the others.
    private func keep(_ samples: [Sample], in store: LocalStore) async -> (kept: [Sample], failures: [any Error]) {
        let results = await runEach(samples, atMost: samples.count) { sample in
            (sample: sample, result: await Result.catching { try await arrive(sample, in: store) })
        }
        var (kept, failures): ([Sample], [any Error]) = ([], [])
        for (sample, result) in results {
            switch result {
            case .success: kept.append(sample)
            case .failure(let error): failures.append(error)
            }
        }
        return (kept, failures)
    }

    private func content(_ sample: Sample, store: LocalStore) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: store.path(of: sample.id))))
    }

    private func withStore(_ body: (LocalStore) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await body(try LocalStore(at: folder.child("app.lfs").path, databaseID: "one"))
        }
    }

    @Test("Small downloads are kept together, each with its own bytes and read-only", arguments: [1, 5, 300])
    func together(_ count: Int) async throws {
        try await withStore { store in
            let (kept, failures) = await keep(samples(count), in: store)
            #expect(kept.count == count)
            #expect(failures.isEmpty)
            for sample in kept {
                try #expect(content(sample, store: store) == sample.bytes)
                try #expect(permissions(of: URL(fileURLWithPath: store.path(of: sample.id))) == 0o400)
            }
            try #expect(names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test("A small download writes nothing to disk before its bytes are verified")
    func inMemory() async throws {
        try await withStore { store in
            let (id, bytes) = (FileID.make(), SampleBytes.make(Int(IncomingFile.smallByteCount)))
            let file = try IncomingFile(id, byteCount: IncomingFile.smallByteCount, in: store)
            #expect(file.isSmall)
            try bytes.reversed().withUnsafeBytes { try file.write($0) }
            #expect(file.byteCount == IncomingFile.smallByteCount)
            try #expect(names(in: URL(fileURLWithPath: store.incoming.path)) == [])
            let isTooLong = #expect(throws: FileError.self) { try bytes.withUnsafeBytes { try file.write($0) } }
            #expect(isTooLong?.code == .sourceChanged)
            let isWrong = await #expect(throws: FileError.self) {
                try await file.finish(sha256: SampleBytes.sha256(bytes)) { Issue.record("The bytes are wrong.") }
            }
            #expect(isWrong?.code == .sourceChanged)
            try #expect(!store.contains(id))
            try #expect(names(in: URL(fileURLWithPath: store.incoming.path)) == [])

            try file.restart()
            try bytes.withUnsafeBytes { try file.write($0) }
            try await file.finish(sha256: SampleBytes.sha256(bytes))
            try #expect(Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(bytes))
        }
    }

    @Test("A small download does not replace the file of a faster download")
    func twice() async throws {
        try await withStore { store in
            let sample = samples(1)[0]
            try await arrive(sample, in: store)
            let first = try inode(of: URL(fileURLWithPath: store.path(of: sample.id)))
            try await arrive(sample, in: store)
            try #expect(inode(of: URL(fileURLWithPath: store.path(of: sample.id))) == first)
            try #expect(names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test(
        "A full disk refuses small downloads that do not fit and keeps those that do",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func fullDisk() async throws {
        try await withSmallFileSystem(kilobytes: 512) { disk in
            let store = try LocalStore(at: disk.child("app.lfs").path, databaseID: "one")
            let (kept, failures) = await keep(samples(100), in: store)
            #expect(kept.count > 10)
            #expect(failures.count > 10)
            for failure in failures { #expect((failure as? FileError)?.code == .noSpace) }
            for sample in kept { try #expect(content(sample, store: store) == sample.bytes) }
            let ids = try names(in: disk.child("app.lfs")).compactMap { FileID(text: $0) }
            #expect(Set(ids) == Set(kept.map(\.id)), "no other file has its name")
            try #expect(names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test(
        "Finished small downloads survive a disk that is removed at once",
        .enabled(if: PulledDisk.isAvailable, "needs root to mount, mkfs.ext4 and xfs_io"), arguments: [1, 40])
    func pulledAfterwards(_ count: Int) async throws {
        try await PulledDisk.with { disk in
            let samples = samples(count)
            try await {
                let store = try LocalStore(at: disk.folder.child("app.lfs").path, databaseID: "one")
                #expect(await keep(samples, in: store).kept.count == count)
                try disk.pull(isUnmounted: false)
            }()
            try disk.putBack(wasUnmounted: false)
            let store = try LocalStore(at: disk.folder.child("app.lfs").path, databaseID: "one")
            for sample in samples { try #expect(content(sample, store: store) == sample.bytes) }
        }
    }

    @Test(
        "A disk removed during small downloads leaves right bytes or no name",
        .enabled(if: PulledDisk.isAvailable, "needs root to mount, mkfs.ext4 and xfs_io"))
    func pulledMeanwhile() async throws {
        try await PulledDisk.with { disk in
            let during = samples(200)
            try await {
                let store = try LocalStore(at: disk.folder.child("app.lfs").path, databaseID: "one")
                let hasKept = Latch()
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for sample in during {
                        tasks.addTask {
                            _ = await Result.catching { try await arrive(sample, in: store) }
                            hasKept.open()
                        }
                    }
                    await hasKept.wait()
                    try disk.pull(isUnmounted: false)
                    try await tasks.waitForAll()
                }
            }()
            try disk.putBack(wasUnmounted: false)
            let store = try LocalStore(at: disk.folder.child("app.lfs").path, databaseID: "one")
            for sample in during where try store.contains(sample.id) {
                try #expect(content(sample, store: store) == sample.bytes)
            }
        }
    }
}
