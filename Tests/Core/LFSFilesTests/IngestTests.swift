import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

/// Runs a body with a new staging area in a new folder.
func withArea(_ body: (StagingArea, URL) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        try await body(try StagingArea(at: folder.child("area").path), folder)
    }
}

extension StagingArea {
    /// Opens an area in a folder of any name. The store uses this for its default area.
    convenience init(at path: String) throws {
        try self.init(Directory.openOrMake(path), isShared: false)
    }

    var url: URL { URL(fileURLWithPath: path) }
}

@Suite("Ingest", .timeLimit(.minutes(10)))
struct IngestTests {
    static let chunk = FileCopy.chunkSize
    static let sizes = [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 17]

    enum Kind: CaseIterable, Sendable {
        case bytes, copying, moving, chunks, handle, stream

        func source(_ content: [UInt8], file: URL) throws -> IngestSource {
            switch self {
            case .bytes: return .bytes(Data(content))
            case .chunks:
                return .chunks { consume in
                    for start in stride(from: 0, to: content.count, by: 100_003) {
                        try await consume(Array(content[start..<min(start + 100_003, content.count)]))
                    }
                }
            case .stream: return .stream(IngestSource.StreamBox(InputStream(data: Data(content))))
            case .copying, .moving, .handle:
                try Data(content).write(to: file)
                if self == .copying { return .copying(path: file.path) }
                if self == .moving { return .moving(path: file.path) }
                return .handle(try FileHandle(forReadingFrom: file))
            }
        }
    }

    @Test("The holes of a file take no room in its copy", arguments: [Kind.copying, .handle])
    func holes(_ kind: Kind) async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            let source = try kind.source(SampleBytes.make(100_000), file: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.seek(toOffset: 8 << 20)
            try handle.write(contentsOf: SampleBytes.make(10))
            try handle.truncate(atOffset: 16 << 20)
            try handle.close()
            let ingested = try await area.ingest(source, as: FileID.make())
            #expect(ingested.byteCount == 16 << 20)
            let copy = area.url.appendingPathComponent(ingested.id.text)
            #expect(try Data(contentsOf: copy) == Data(contentsOf: file))
            let opened = try Descriptor.openForReading(copy.path)
            #expect(withExtendedLifetime(opened) { SparseFile.isSparse(opened.raw) })
        }
    }

    @Test("Zeros that are written out, and not a hole, are copied as they are")
    func zeros() async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            try Data(count: 1 << 20).write(to: file)
            let ingested = try await area.ingest(.copying(path: file.path), as: FileID.make())
            let copy = area.url.appendingPathComponent(ingested.id.text)
            let opened = try Descriptor.openForReading(copy.path)
            #expect(withExtendedLifetime(opened) { !SparseFile.isSparse(opened.raw) })
        }
    }

    @Test("A handle with a byte count is read up to that count while others append")
    func limitedHandle() async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            let content = SampleBytes.make(2 * Self.chunk + 5)
            try Data(content).write(to: file)
            let writer = try FileHandle(forWritingTo: file)
            try writer.seekToEnd()
            try writer.write(contentsOf: Data("more".utf8))
            let handle = try FileHandle(forReadingFrom: file)
            let source = IngestSource.handle(handle, byteCount: Int64(content.count))
            let ingested = try await area.ingest(source, as: FileID.make()) { _ in
                #expect(throws: Never.self) { try writer.write(contentsOf: Data("more".utf8)) }
            }
            #expect(ingested.byteCount == Int64(content.count))
            #expect(try Data(contentsOf: area.url.appendingPathComponent(ingested.id.text)) == Data(content))
        }
    }

    @Test("A file with a time beyond the year 2262 is ingested", arguments: [Kind.copying, .moving, .handle])
    func distantTime(_ kind: Kind) async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            let source = try kind.source(SampleBytes.make(1_000), file: file)
            try setModified(file, seconds: 10_413_792_000)
            let ingested = try await area.ingest(source, as: FileID.make())
            #expect(ingested.byteCount == 1_000)
        }
    }

    @Test("An ingest keeps every byte, its byte count and its SHA-256", arguments: Kind.allCases, sizes)
    func everySource(_ kind: Kind, size: Int) async throws {
        try await withArea { area, folder in
            let content = SampleBytes.make(size)
            let id = FileID.make()
            let ingested = try await area.ingest(kind.source(content, file: folder.child("source")), as: id)
            #expect(ingested.id == id)
            #expect(ingested.byteCount == Int64(size))
            #expect(ingested.sha256 == SampleBytes.sha256(content))
            var check = CyclicRedundancyCheck(.crc64NVME)
            content.withUnsafeBytes { check.update($0) }
            #expect(ingested.crc64 == check.hex)
            #expect(try names(in: area.url) == [id.text])
            #expect(try Data(contentsOf: area.url.child(id.text)) == Data(content))
            #expect(try permissions(of: area.url.child(id.text)) == 0o600)
            let isLeft = FileManager.default.fileExists(atPath: folder.child("source").path)
            #expect(isLeft == (kind == .copying || kind == .handle))
        }
    }

    @Test("Chunk sizes do not change the result", arguments: [1, 7, IngestTests.chunk, 3 * IngestTests.chunk])
    func chunkSizes(_ size: Int) async throws {
        try await withArea { area, _ in
            let content = SampleBytes.make(20 * size + 3)
            let ingested = try await area.ingest(
                .chunks { consume in
                    try await consume([UInt8]())
                    for start in stride(from: 0, to: content.count, by: size) {
                        try await consume(content[start..<min(start + size, content.count)])
                    }
                }, as: FileID.make())
            #expect(ingested.sha256 == SampleBytes.sha256(content))
        }
    }

    @Test("A handle is read from its position to its end and is not closed or rewound")
    func handlePosition() async throws {
        try await withArea { area, folder in
            let content = SampleBytes.make(10_000)
            try Data(content).write(to: folder.child("source"))
            let handle = try FileHandle(forReadingFrom: folder.child("source"))
            try handle.seek(toOffset: 4_000)
            let ingested = try await area.ingest(.handle(handle), as: FileID.make())
            #expect(ingested.byteCount == 6_000)
            #expect(ingested.sha256 == SampleBytes.sha256(content[4_000...]))
            #expect(try handle.offset() == 10_000)
            try handle.seek(toOffset: 0)
            #expect(try handle.read(upToCount: 3) == Data(content.prefix(3)))
            try handle.close()
        }
    }

    @Test("A pipe is read to its end")
    func pipe() async throws {
        try await withArea { area, _ in
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data("from a pipe".utf8))
            try pipe.fileHandleForWriting.close()
            let ingested = try await area.ingest(.handle(pipe.fileHandleForReading), as: FileID.make())
            #expect(ingested.sha256 == SampleBytes.sha256(Array("from a pipe".utf8)))
        }
    }

    @Test("An id that already exists is refused, and its file is kept")
    func takenID() async throws {
        try await withArea { area, _ in
            let id = FileID.make()
            _ = try await area.ingest(.bytes([UInt8]([1])), as: id)
            await #expect(throws: FileError.self) { try await area.ingest(.bytes([UInt8]([2])), as: id) }
            #expect(try Data(contentsOf: area.url.child(id.text)) == Data([1]))
        }
    }
}
