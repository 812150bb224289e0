import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Downloads into the store", .timeLimit(.minutes(10)))
struct IncomingFileTests {
    private let content = SampleBytes.make(100_000)

    private func withStore(_ body: (LocalStore) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await body(try LocalStore(at: folder.child("app.lfs").path, databaseID: "one"))
        }
    }

    private func write(_ bytes: [UInt8], to file: IncomingFile) throws {
        try bytes.withUnsafeBytes { try file.write($0) }
    }

    @Test("A download gets its name only when its size and SHA-256 are right")
    func finishes() async throws {
        try await withStore { store in
            let id = FileID.make()
            let file = try IncomingFile(id, byteCount: 100_000, in: store)
            try write(Array(content.prefix(60_000)), to: file)
            #expect(try !store.contains(id))
            try write(Array(content.dropFirst(60_000)), to: file)
            try await file.finish(sha256: SampleBytes.sha256(content))
            #expect(try Data(contentsOf: URL(fileURLWithPath: store.path(of: id))) == Data(content))
            #expect(try permissions(of: URL(fileURLWithPath: store.path(of: id))) == 0o400)
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test("A download with wrong or too few bytes is refused and can be discarded", arguments: [true, false])
    func wrongBytes(_ isShort: Bool) async throws {
        try await withStore { store in
            let id = FileID.make()
            let file = try IncomingFile(id, byteCount: 100_000, in: store)
            try write(isShort ? Array(content.dropLast()) : content.reversed(), to: file)
            let error = await #expect(throws: FileError.self) {
                try await file.finish(sha256: SampleBytes.sha256(content))
            }
            #expect(error?.code == .sourceChanged)
            #expect(try !store.contains(id))
            try file.discard()
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test("A download ends as soon as it exceeds the recorded size")
    func longer() async throws {
        try await withStore { store in
            let file = try IncomingFile(FileID.make(), byteCount: 99_999, in: store)
            let error = #expect(throws: FileError.self) { try write(content, to: file) }
            #expect(error?.code == .sourceChanged)
            try file.discard()
        }
    }

    @Test("A download is refused if the disk kept fewer bytes than were written", arguments: [100_000, 2 << 20])
    func lyingDisk(_ byteCount: Int) async throws {
        try await withStore { store in
            let (id, content) = (FileID.make(), SampleBytes.make(byteCount))
            let file = try IncomingFile(id, byteCount: Int64(byteCount), in: store)
            file.begin(entityTag: "v1")
            try write(content, to: file)
            let part = try #require(names(in: URL(fileURLWithPath: store.incoming.path)).first { $0 != "\(id).tag" })
            #expect(truncate(store.incoming.child(part), off_t(byteCount - 1)) == 0)
            let error = await #expect(throws: FileError.self) {
                try await file.finish(sha256: SampleBytes.sha256(content))
            }
            #expect(error?.code == .system)
            #expect(try !store.contains(id))
            try file.leave()
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test("A download does not replace the file of a faster download")
    func twice() async throws {
        try await withStore { store in
            let id = FileID.make()
            let files = try (1...2).map { _ in try IncomingFile(id, byteCount: 100_000, in: store) }
            for file in files { try write(content, to: file) }
            try await files[1].finish(sha256: SampleBytes.sha256(content))
            let first = try inode(of: URL(fileURLWithPath: store.path(of: id)))
            try await files[0].finish(sha256: SampleBytes.sha256(content))
            #expect(try inode(of: URL(fileURLWithPath: store.path(of: id))) == first)
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }

    @Test("A download that a crash interrupted is cleared away")
    func cleared() async throws {
        try await withStore { store in
            _ = try IncomingFile(FileID.make(), byteCount: 100_000, in: store)
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)).count == 1)
            #expect(try store.clearIncoming().isEmpty)
            #expect(try names(in: URL(fileURLWithPath: store.incoming.path)) == [])
        }
    }
}
