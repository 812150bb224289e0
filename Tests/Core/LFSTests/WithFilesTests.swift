import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite("Making several files", .timeLimit(.minutes(10)))
struct WithFilesTests {
    private struct Refusal: Error {}

    @Test("All files are inserted in the order of their sources")
    func inserted() async throws {
        try await withLFS { host, lfs in
            let contents = (0..<5).map { _ in someBytes() }
            let files = try await lfs.withFiles(from: contents.map { FileSource.bytes($0) }) { files in
                try await host.database.write { db in for file in files { try file.insert(db) } }
                return files
            }
            for (file, bytes) in zip(files, contents) { #expect(try await read(file, lfs: lfs) == bytes) }
        }
    }

    @Test("A closure that throws leaves only the files that it has inserted")
    func closureThrows() async throws {
        try await withLFS { host, lfs in
            await #expect(throws: Refusal.self) {
                try await lfs.withFiles(from: [.bytes([1]), .bytes([2]), .bytes([3])]) { files in
                    try await host.database.write { try files[1].insert($0) }
                    throw Refusal()
                }
            }
            try await lfs.waitForUploads()
            try #expect(host.filesInTemporary().isEmpty)
            #expect(try host.filesInStore().count == 1)
            #expect(try host.count("lfs_file") == 1)
        }
    }

    @Test("A failed commit with an unknown result keeps the files")
    func openCommit() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let error = DatabaseError(resultCode: .SQLITE_IOERR, message: "fsync")
            await #expect(throws: DatabaseError.self) {
                try await lfs.withFiles(from: [.bytes([1])]) { _ in throw error }
            }
            try #expect(host.filesInTemporary().count == 1)
        }
    }

    @Test("A single file reports progress and leaves nothing when its closure throws")
    func single() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes(600_000)
            let told = Mutex<[Int64]>([])
            let file = try await lfs.withFile(
                from: .bytes(bytes).named("a.jpg"), onProgress: { count in told.withLock { $0.append(count) } }
            ) { file in
                try await host.database.write { try file.insert($0) }
                return file
            }
            #expect(file.name == "a.jpg" && file.contentType == "image/jpeg")
            #expect(told.withLock { $0.last } == 600_000)
            #expect(try await read(file, lfs: lfs) == bytes)
            let moved = host.folder.appendingPathComponent("moved")
            try Data(bytes).write(to: moved)
            await #expect(throws: Refusal.self) {
                try await lfs.withFile(from: .movingFile(moved)) { _ in throw Refusal() }
            }
            try await lfs.waitForUploads()
            try #expect(host.filesInTemporary().isEmpty)
            #expect(try host.count("lfs_file") == 1)
            #expect(try Data(contentsOf: moved) == Data(bytes))
        }
    }

    @Test("Making files reports the number of bytes read")
    func progress() async throws {
        try await withLFS { host, lfs in
            let sum = Atomic<Int64>(0)
            try await lfs.withFiles(
                from: [.bytes(someBytes(300_000)), .bytes([1])],
                onProgress: { count in sum.wrappingAdd(count, ordering: .relaxed) }
            ) { files in
                try await host.database.write { db in for file in files { try file.insert(db) } }
            }
            #expect(sum.load(ordering: .relaxed) == 300_001)
        }
    }

    @Test("A source that fails leaves none of the files")
    func sourceFails() async throws {
        try await withLFS { host, lfs in
            let code = await errorCode {
                try await lfs.withFiles(from: [.bytes([1]), .file(host.folder.appendingPathComponent("none"))]) { _ in
                    _ = Issue.record("The closure ran although a file is missing.")
                }
            }
            #expect(code == .missing)
            try #expect(host.filesInTemporary().isEmpty)
        }
    }

    @Test("Moved files are put back when the closure throws")
    func movedBack() async throws {
        try await withLFS { host, lfs in
            let urls = (0..<3).map { host.folder.appendingPathComponent("moved-\($0)") }
            for (index, url) in urls.enumerated() { try Data([UInt8(index)]).write(to: url) }
            await #expect(throws: Refusal.self) {
                try await lfs.withFiles(from: urls.map(FileSource.movingFile)) { files in
                    try await host.database.write { try files[1].insert($0) }
                    throw Refusal()
                }
            }
            try await lfs.waitForUploads()
            #expect(try urls.map { try? Data(contentsOf: $0) } == [Data([0]), nil, Data([2])])
            try #expect(host.filesInTemporary().isEmpty)
            #expect(try host.filesInStore().count == 1)
        }
    }

    @Test("Files of good sources are made with their given or suggested names")
    func makeFiles() async throws {
        try await withLFS { host, lfs in
            let url = host.folder.appendingPathComponent("photo.jpg")
            try Data([1, 2]).write(to: url)
            let sources: [FileSource] = [
                .file(url), .file(url).named("a.png"), .bytes([3]).named("b", contentType: "text/x-b"),
                .file(host.folder.appendingPathComponent("none")), .file(try #require(URL(string: "https://a/b"))),
            ]
            let results = try await lfs.makeFiles(from: sources)
            let files = results.compactMap { try? $0.get() }
            #expect(files.map(\.name) == ["photo.jpg", "a.png", "b"])
            #expect(files.map(\.contentType) == ["image/jpeg", "image/png", "text/x-b"])
            #expect(files.map(\.byteCount) == [2, 2, 1])
            #expect(files.map(\.id) == files.map(\.id).sorted())
            let codes = results.map { result in
                if case .failure(let error) = result { error.code } else { nil as LFSError.Code? }
            }
            #expect(codes == [nil, nil, nil, .missing, .notAFile])
            try await host.database.write { db in for file in files { try file.insert(db) } }
            try await lfs.waitForUploads()
            #expect(try await host.database.read { try FileData.fetchAll($0) }.allSatisfy { $0.status == .remote })
        }
    }

    @Test("A stopped manager makes no files")
    func stopped() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try await lfs.stop()
            #expect(await errorCode { _ = try await lfs.makeFiles(from: [.bytes([1])]) } == .notRunning)
        }
    }

    @Test("Cancelling the task in the closure leaves none of the files")
    func cancelled() async throws {
        try await withLFS { host, lfs in
            let task = Task {
                try await lfs.withFiles(from: [.bytes([1]), .bytes([2])]) { _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    try Task.checkCancellation()
                }
            }
            let code = await errorCode { try await task.value }
            #expect(code == .cancelled)
            try #expect(host.filesInTemporary().isEmpty)
        }
    }
}
