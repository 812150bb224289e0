import Foundation
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Ingest of many sources", .timeLimit(.minutes(10)))
struct IngestBatchTests {
    private typealias Kind = IngestTests.Kind

    @Test("A batch keeps every byte of every kind of source, in the order of the requests")
    func everySource() async throws {
        try await withArea { area, folder in
            let contents = (0..<60).map { SampleBytes.make($0 * 1_237) }
            let requests = try contents.enumerated().map { index, content in
                let kind = Kind.allCases[index % Kind.allCases.count]
                return IngestRequest(try kind.source(content, file: folder.child("source-\(index)")), as: FileID.make())
            }
            let count = Atomic<Int64>(0)
            let files = try await area.ingest(all: requests) { count.add($0, ordering: .relaxed) }.map { try $0.get() }
            #expect(files.map(\.id) == requests.map(\.id))
            #expect(files.map(\.sha256) == contents.map(SampleBytes.sha256))
            #expect(files.map(\.byteCount) == contents.map { Int64($0.count) })
            #expect(count.load(ordering: .relaxed) == contents.reduce(0) { $0 + Int64($1.count) })
            for (file, content) in zip(files, contents) {
                #expect(try Array(Data(contentsOf: area.url.child(file.id.text))) == content)
            }
            #expect(try names(in: area.url).count == contents.count)
        }
    }

    @Test("A batch keeps the good sources and returns an error for each bad one")
    func badSources() async throws {
        try await withArea { area, folder in
            let good = IngestRequest(.bytes([1, 2, 3]), as: FileID.make())
            let missing = IngestRequest(.copying(path: folder.child("none").path), as: FileID.make())
            let directory = IngestRequest(.copying(path: folder.path), as: FileID.make())
            let failing = IngestRequest(.chunks { _ in throw CocoaError(.fileReadUnknown) }, as: FileID.make())
            let moved = IngestRequest(.moving(path: folder.child("none").path), as: FileID.make())
            let results = try await area.ingest(all: [missing, good, directory, failing, moved])
            let codes = results.map { result in
                if case .failure(let error) = result { error.code } else { nil as FileError.Code? }
            }
            #expect(codes == [.missing, nil, .notAFile, .sourceFailed, .missing])
            #expect(try names(in: area.url) == [good.id.text])
        }
    }

    @Test("A file that is larger than any row can say fails alone", .enabled(if: access("/dev/shm", W_OK) == 0))
    func tooLarge() async throws {
        try await withArea { area, _ in
            // Not every file system has sparse files of this size.
            let path = "/dev/shm/lfs-test-\(UUID())"
            let number = open(path, O_CREAT | O_RDWR, 0o600)
            let handle = FileHandle(fileDescriptor: number, closeOnDealloc: true)
            defer { unlink(path) }
            try #require(ftruncate(number, .max) == 0)
            let good = IngestRequest(.bytes([1]), as: FileID.make())
            let large: [IngestSource] = [
                .copying(path: path), .original(OriginalSource(path: Array(path.utf8))), .handle(handle),
            ]
            let results = try await area.ingest(all: [good] + large.map { IngestRequest($0, as: FileID.make()) })
            let codes = results.map { result in
                if case .failure(let error) = result { error.code } else { nil as FileError.Code? }
            }
            #expect(codes == [nil, .sourceFailed, .sourceFailed, .sourceFailed])
            #expect(try names(in: area.url) == [good.id.text])
        }
    }

    @Test("A batch that fails to write leaves nothing and puts moved files back")
    func placeFails() async throws {
        try await withArea { area, folder in
            let moved = folder.child("moved")
            try Data([7, 8, 9]).write(to: moved)
            let id = FileID.make()
            let requests = [
                IngestRequest(.bytes([1]), as: FileID.make()),
                IngestRequest(.moving(path: moved.path), as: id),
                // The name already exists.
                IngestRequest(.chunks { try await $0([1]) }, as: id),
            ]
            let error = await #expect(throws: FileError.self) { try await area.ingest(all: requests) }
            #expect(error?.code == .system)
            #expect(try names(in: area.url) == [])
            #expect(try Array(Data(contentsOf: moved)) == [7, 8, 9])
        }
    }

    @Test("A moved file whose old path was taken is kept under another name")
    func placeIsTaken() async throws {
        try await withArea { area, folder in
            let moved = folder.child("moved")
            try Data([7, 8, 9]).write(to: moved)
            let id = FileID.make()
            let taking = IngestSource.chunks { consume in
                try Data("newer".utf8).write(to: moved)
                try await consume([1])
            }
            let requests = [
                IngestRequest(.moving(path: moved.path), as: id), IngestRequest(taking, as: FileID.make()),
                IngestRequest(.chunks { try await $0([1]) }, as: id),
            ]
            let error = await #expect(throws: FileError.self) { try await area.ingest(all: requests) }
            #expect(try names(in: area.url) == [id.text + ".kept"])
            #expect(error?.message.contains(area.url.child(id.text + ".kept").path) == true)
            #expect(try Data(contentsOf: moved) == Data("newer".utf8))
        }
    }

    @Test(
        "A full disk leaves nothing of a batch",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func fullDisk() async throws {
        try await withSmallFileSystem(kilobytes: 512) { disk in
            let area = try StagingArea(at: disk.child("area").path)
            let requests = (0..<100).map { _ in IngestRequest(.bytes(SampleBytes.make(20_000)), as: FileID.make()) }
            let error = await #expect(throws: FileError.self) { try await area.ingest(all: requests) }
            #expect(error?.code == .noSpace)
            #expect(try names(in: area.url) == [])
        }
    }

    @Test("Cancelling the flag or the task ends a batch and leaves nothing", arguments: [false, true])
    func isEnded(byTask: Bool) async throws {
        try await withArea { area, folder in
            let flag = CancellationFlag()
            let begun = Latch()
            let pipe = Pipe()
            let requests =
                (0..<10).map { _ in IngestRequest(.bytes([1]), as: FileID.make()) }
                + [IngestRequest(.handle(pipe.fileHandleForReading), as: FileID.make())]
            let task = Task { try await area.ingest(all: requests, watching: flag) { _ in begun.open() } }
            await begun.wait()
            if byTask { task.cancel() } else { flag.cancel() }
            let error = await #expect(throws: FileError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            try #expect(names(in: area.url) == [])
        }
    }

    @Test("An empty batch returns no files")
    func nothing() async throws {
        try await withArea { area, _ in
            let files = try await area.ingest(all: [])
            #expect(files.isEmpty)
        }
    }
}
