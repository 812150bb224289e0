import Foundation
import GRDB
import LFS
import LFSSystem
import TestSupport
import Testing

@Suite("Several files made at once", .timeLimit(.minutes(1)))
struct WithFilesTests {
    private struct Refusal: Error {}

    @Test("are all inserted, in the order of their sources")
    func inserted() async throws {
        try await withLFS { host, lfs in
            let contents = (0..<5).map { _ in someBytes() }
            let files = try await lfs.withFiles(from: contents.map { FileSource.bytes($0) }) { files in
                try await host.database.write { db in for file in files { try file.insert(db) } }
                return files
            }
            for (file, bytes) in zip(files, contents) { #expect(try await read(file, lfs) == bytes) }
        }
    }

    @Test("leave nothing behind when the closure throws, but what it has inserted before")
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

    @Test("stay when the commit may turn out to have happened: a sweep of a later start removes what has no row")
    func openCommit() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let error = DatabaseError(resultCode: .SQLITE_IOERR, message: "fsync")
            await #expect(throws: DatabaseError.self) {
                try await lfs.withFiles(from: [.bytes([1])]) { _ in throw error }
            }
            try #expect(host.filesInTemporary().count == 1)
        }
    }

    @Test("leave nothing behind when a later source fails")
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

    @Test("leave nothing behind when the task is cancelled in the closure")
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
