import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Ingest failures", .timeLimit(.minutes(10)))
struct IngestFailureTests {
    struct SourceBroke: Error {}

    /// Runs an ingest that must fail, and checks that no file is left.
    private func failing(_ source: IngestSource, in area: StagingArea) async throws -> FileError? {
        let error = await #expect(throws: FileError.self) { try await area.ingest(source, as: FileID.make()) }
        #expect(try names(in: area.url) == [], "no partial file is left")
        return error
    }

    @Test("A source that fails half-way leaves nothing and keeps the cause")
    func sourceFails() async throws {
        try await withArea { area, _ in
            let error = try await failing(
                .chunks { consume in
                    try await consume(SampleBytes.make(FileCopy.chunkSize + 1))
                    throw SourceBroke()
                }, in: area)
            #expect(error?.code == .sourceFailed)
            #expect(error?.cause is SourceBroke)
        }
    }

    @Test("A cancelled task leaves nothing of its ingest")
    func cancelled() async throws {
        try await withArea { area, _ in
            let begun = EventLog<Int>()
            let task = Task {
                try await area.ingest(
                    .chunks { consume in
                        for number in 0..<1_000_000 {
                            try await consume(SampleBytes.make(1_000))
                            begun.add(number)
                            // Only the cancellation ends this source.
                            if number == 500 { await cancellation() }
                        }
                    }, as: FileID.make())
            }
            await begun.wait { $0.count == 501 }
            task.cancel()
            let error = await #expect(throws: FileError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            let left = try names(in: area.url)
            #expect(left == [])
        }
    }

    @Test(
        "An ingest of a cancelled task leaves nothing, for every kind of source", arguments: IngestTests.Kind.allCases)
    func cancelledBefore(_ kind: IngestTests.Kind) async throws {
        try await withArea { area, folder in
            let content = SampleBytes.make(2 * FileCopy.chunkSize)
            let source = try kind.source(content, file: folder.child("source"))
            await withTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask {
                    let error = await #expect(throws: FileError.self) {
                        try await area.ingest(source, as: FileID.make())
                    }
                    #expect(error?.code == .cancelled)
                }
            }
            #expect(try names(in: area.url) == [])
            if kind == .moving { #expect(try Data(contentsOf: folder.child("source")) == Data(content)) }
        }
    }

    @Test("The error for a missing path or a path that is not a file names the path", arguments: [true, false])
    func notAFile(_ isMoved: Bool) async throws {
        try await withArea { area, folder in
            func source(_ name: String) -> IngestSource {
                let path = folder.child(name).path
                return isMoved ? .moving(path: path) : .copying(path: path)
            }
            try Data([1]).write(to: folder.child("target"))
            try FileManager.default.createSymbolicLink(
                at: folder.child("link"), withDestinationURL: folder.child("target"))
            try #require(mkfifo(folder.child("fifo").path, 0o600) == 0)
            for (name, code) in [
                ("missing", .missing), ("missing/below", .missing), ("link", .notAFile), ("fifo", .notAFile),
                ("area", .notAFile),
            ] as [(String, FileError.Code)] {
                let error = try await failing(source(name), in: area)
                #expect(error?.code == code, "\(name)")
                #expect(error?.message.contains(name) == true)
            }
            #expect(try names(in: folder) == ["area", "fifo", "link", "target"])
        }
    }

    @Test("A file that grows or shrinks while it is read fails with `sourceChanged`", arguments: [-1, 1])
    func changedSource(_ change: Int) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.child("source")
            try Data(SampleBytes.make(3 * FileCopy.chunkSize)).write(to: path)
            let source = try SourceFile(Descriptor.openForReading(path.path))
            let handle = try FileHandle(forWritingTo: path)
            var isFirst = true
            let error = #expect(throws: FileError.self) {
                try source.read(CancellationFlag()) { _ in
                    if isFirst { try handle.truncate(atOffset: UInt64(3 * FileCopy.chunkSize + change)) }
                    isFirst = false
                }
            }
            #expect(error?.code == .sourceChanged)
        }
    }

    @Test(
        "A full disk fails with `noSpace` and leaves nothing", .enabled(if: Machine.canMount, "needs root to mount"),
        arguments: IngestTests.Kind.allCases)
    func fullDisk(_ kind: IngestTests.Kind) async throws {
        try await withSmallFileSystem(kilobytes: 256) { disk in
            try await withTemporaryFolder { folder in
                let area = try StagingArea(at: disk.child("area").path)
                let content = SampleBytes.make(1_000_000)
                let error = try await failing(kind.source(content, file: folder.child("source")), in: area)
                #expect(error?.code == .noSpace)
                #expect(error?.message.contains(area.path) == true)
                if kind == .moving { #expect(try Data(contentsOf: folder.child("source")) == Data(content)) }
                _ = try await area.ingest(.bytes([UInt8](repeating: 1, count: 100_000)), as: FileID.make())
            }
        }
    }

    @Test("A read-only area fails an ingest with `readOnly`", .enabled(if: Machine.canMount, "needs root to mount"))
    func readOnly() async throws {
        try await withSmallFileSystem(kilobytes: 256) { disk in
            let area = try StagingArea(at: disk.child("area").path)
            try #require(try runTool("mount", arguments: ["-o", "remount,ro", disk.path]))
            let error = try await failing(.bytes([UInt8]([1])), in: area)
            #expect(error?.code == .readOnly)
            let other = #expect(throws: FileError.self) { try StagingArea(at: disk.child("area").path) }
            #expect(other?.code == .readOnly)
        }
    }

    @Test("A failed stream fails with `sourceFailed`")
    func streamFails() async throws {
        try await withArea { area, folder in
            guard let stream = InputStream(url: folder.child("missing")) else { return }
            let error = try await failing(.stream(IngestSource.StreamBox(stream)), in: area)
            #expect(error?.code == .sourceFailed)
        }
    }
}

/// Returns when the task is cancelled.
private func cancellation() async {
    let (ends, end) = AsyncStream<Void>.makeStream()
    await withTaskCancellationHandler {
        for await _ in ends {}
    } onCancel: {
        end.finish()
    }
}
