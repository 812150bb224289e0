import Foundation
import LFSSystem
import TestSupport
import Testing

@testable import LFSFiles

@Suite("Ingest by moving a file", .timeLimit(.minutes(10)))
struct IngestMoveTests {
    private let content = SampleBytes.make(FileCopy.chunkSize + 5)

    @Test("Moving a file within one file system keeps its inode")
    func sameFile() async throws {
        try await withArea { area, folder in
            let source = folder.child("source")
            try Data(content).write(to: source)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: source.path)
            let before = try inode(of: source)
            let id = FileID.make()
            _ = try await area.ingest(.moving(path: source.path), as: id)
            #expect(try inode(of: area.url.child(id.text)) == before)
            #expect(try permissions(of: area.url.child(id.text)) == 0o600)
            #expect(try names(in: folder) == ["area"])
        }
    }

    @Test("A file with a second hard link is copied instead of moved")
    func hardLink() async throws {
        try await withArea { area, folder in
            let source = folder.child("source")
            try Data(content).write(to: source)
            try FileManager.default.linkItem(at: source, to: folder.child("other name"))
            let id = FileID.make()
            _ = try await area.ingest(.moving(path: source.path), as: id)
            #expect(try inode(of: area.url.child(id.text)) != inode(of: folder.child("other name")))
            #expect(try names(in: folder) == ["area", "other name"])
            #expect(try Data(contentsOf: folder.child("other name")) == Data(content))
        }
    }

    @Test("Moving does not remove a file that replaced the copied one")
    func replacedWhileCopied() async throws {
        try await withArea { area, folder in
            let source = folder.child("source")
            try Data(content).write(to: source)
            try FileManager.default.linkItem(at: source, to: folder.child("other name"))
            try Data("new".utf8).write(to: folder.child("replacement"))
            await #expect(throws: FileError.self) {
                _ = try await area.ingest(.moving(path: source.path), as: FileID.make()) { _ in
                    _ = rename(folder.child("replacement").path, source.path)
                }
            }
            #expect(try Data(contentsOf: source) == Data("new".utf8))
            #expect(try names(in: area.url).isEmpty)
        }
    }

    @Test(
        "Moving from another file system copies the file and then removes the original",
        .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func otherDisk() async throws {
        try await withArea { area, _ in
            try await withTemporaryFolder(in: #require(otherFileSystem)) { elsewhere in
                let source = elsewhere.child("source")
                try Data(content).write(to: source)
                let id = FileID.make()
                let ingested = try await area.ingest(.moving(path: source.path), as: id)
                #expect(ingested.sha256 == SampleBytes.sha256(content))
                #expect(try Data(contentsOf: area.url.child(id.text)) == Data(content))
                #expect(try names(in: elsewhere) == [])
            }
        }
    }

    @Test(
        "A failed copy leaves the original in place", .enabled(if: Machine.canMount, "needs root to mount"),
        .enabled(if: otherFileSystem != nil, "needs /dev/shm"))
    func failedCopy() async throws {
        try await withSmallFileSystem(kilobytes: 64) { disk in
            try await withTemporaryFolder { folder in
                let source = folder.child("source")
                try Data(content).write(to: source)
                let area = try StagingArea(at: disk.child("area").path)
                await #expect(throws: FileError.self) {
                    try await area.ingest(.moving(path: source.path), as: FileID.make())
                }
                #expect(try Data(contentsOf: source) == Data(content))
                #expect(try names(in: area.url) == [])
            }
        }
    }

    @Test("A move restores a file that was written to between reading and renaming")
    func givesBack() async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            try Data(content).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            let source = try SourceFile(Descriptor.openForReading(file.path))
            try source.read(CancellationFlag()) { _ in }
            let handle = try FileHandle(forWritingTo: file)
            try handle.write(contentsOf: Data([0, 0]))
            try handle.truncate(atOffset: 5)
            let ingest = Ingest(area: area, id: FileID.make(), onProgress: { _ in })
            let move = IngestMove(ingest: ingest, flag: CancellationFlag(), path: file.path)
            let error = #expect(throws: FileError.self) { try move.take(source) }
            #expect(error?.code == .sourceChanged)
            #expect(try names(in: area.url) == [])
            #expect(try Data(contentsOf: file).count == 5)
            #expect(try permissions(of: file) == 0o644)
        }
    }

    @Test("A move restores a file whose new name cannot be made durable", arguments: [false, true])
    func givesBackAfterSync(_ isNameTaken: Bool) async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            try Data(content).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            let id = FileID.make()
            let ingest = Ingest(area: area, id: id, onProgress: { _ in })
            let flag = CancellationFlag()
            let move = IngestMove(ingest: ingest, flag: flag, path: file.path) { area throws(SystemError) in
                if isNameTaken, !FileManager.default.createFile(atPath: file.path, contents: Data("newer".utf8)) {
                    return
                }
                throw SystemError(call: "fsync", path: area.path, errno: EIO)
            }
            let error = await #expect(throws: FileError.self) { try await move.run() }
            #expect(error?.code == .system)
            guard isNameTaken else {
                #expect(try Data(contentsOf: file) == Data(content))
                #expect(try permissions(of: file) == 0o644)
                #expect(try names(in: area.url) == [])
                return
            }
            #expect(try Data(contentsOf: file) == Data("newer".utf8))
            let kept = area.url.child("\(id.text).kept")
            #expect(try Data(contentsOf: kept) == Data(content))
            #expect(try permissions(of: kept) == 0o644)
            #expect(error?.message.contains(kept.path) == true)
            #expect(try area.files().next()?.isEmpty == true, "a sweep would remove it")
        }
    }

    @Test("A move restores a file that replaced the one that was read")
    func replaced() async throws {
        try await withArea { area, folder in
            let file = folder.child("source")
            try Data(content).write(to: file)
            let source = try SourceFile(Descriptor.openForReading(file.path))
            try source.read(CancellationFlag()) { _ in }
            try FileManager.default.removeItem(at: file)
            try Data([1, 2, 3]).write(to: file)
            let ingest = Ingest(area: area, id: FileID.make(), onProgress: { _ in })
            let move = IngestMove(ingest: ingest, flag: CancellationFlag(), path: file.path)
            let error = #expect(throws: FileError.self) { try move.take(source) }
            #expect(error?.code == .sourceChanged)
            #expect(try names(in: area.url) == [])
            #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
        }
    }
}
