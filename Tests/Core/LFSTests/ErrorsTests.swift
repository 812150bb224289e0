import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("Errors of calls", .timeLimit(.minutes(10)))
struct ErrorsTests {
    @Test("An error reports whether the file is permanently missing")
    func missing() {
        let object = StorageError(.missing, message: "Nothing there.")
        #expect(LFSError(.storage, message: "Nothing there.", cause: object).isMissing)
        for code in [LFSError.Code.unknownFile, .bytesMissing, .deleted] {
            #expect(LFSError(code, message: "Gone.").isMissing)
        }
        // A missing folder or source file does not mean that the file is missing.
        for code in [LFSError.Code.missing, .folderAbsent, .notRunning, .sourceChanged] {
            #expect(!LFSError(code, message: "Not here.").isMissing)
        }
        #expect(!LFSError(.storage, message: "Away.", cause: StorageError(.unreachable, message: "Away.")).isMissing)
    }

    @Test("A cancelled wait for uploads ends with `cancelled`")
    func cancelledWait() async throws {
        try await withLFS(configure: { $0.pollInterval = .seconds(3_600) }) { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            let unbegun = Task { await errorCode { try await lfs.waitForUploads() } }
            unbegun.cancel()
            #expect(await unbegun.value == .cancelled)
            let begun = Task { await errorCode { try await lfs.waitForUploads() } }
            try await yield(while: !lfs.hub.hasSleepingWaiter)
            begun.cancel()
            #expect(await begun.value == .cancelled)
            lfs.resume()
        }
    }

    @Test("A remote URL as a source is refused without revealing its secrets")
    func remoteURL() async throws {
        try await withLFS { _, lfs in
            let url = try #require(URL(string: "https://user:secret@example.com/photo.jpg?token=secret"))
            for source in [FileSource.file(url), .movingFile(url)] {
                do {
                    _ = try await lfs.makeFile(from: source)
                    Issue.record("The source was accepted.")
                } catch let error as LFSError {
                    #expect(error.code == .notAFile)
                    #expect(error.message.contains("Download its bytes first") && !error.message.contains("secret"))
                }
            }
        }
    }

    @Test("The progress of an upload ends complete only if the upload succeeds")
    func progress() async throws {
        let (gate, held) = (Gate(), Gate())
        let storage = ScriptedStorage(beforeUpload: { _, call in
            if call == 1 { try await gate.pass() }
            if call == 2 { throw StorageError(.tooLarge, message: "Too large.") }
            if call == 3 { try await held.pass() }
        })
        try await withLFS(storage: storage, configure: { $0.maxExecutors = 1 }, expectsLeftovers: true) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            let during = try await lfs.uploadProgress(of: file.id)
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            gate.opened.open()
            #expect(try await Self.last(during) == 1)
            try await lfs.waitForUploads()
            #expect(try await Self.last(try await lfs.uploadProgress(of: file.id)) == 1)

            let bad = try await lfs.makeFile(from: .bytes(someBytes()))
            let failing = try await lfs.uploadProgress(of: bad.id)
            try await host.database.write { try bad.insert($0) }
            #expect(await errorCode { _ = try await Self.last(failing) } == .storage)
            try await lfs.waitForUploads()
            let later = try await lfs.uploadProgress(of: bad.id)
            #expect(await errorCode { _ = try await Self.last(later) } == .notUploaded)

            let stopping = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try stopping.insert($0) }
            await held.reached.wait()
            try await lfs.cancel(stopping.id)
            held.opened.open()
            let cancelled = try await lfs.uploadProgress(of: stopping.id)
            #expect(await errorCode { _ = try await Self.last(cancelled) } == .cancelled)
            let stopped = try await lfs.uploadProgress(of: try await lfs.makeFile(from: .bytes(someBytes())).id)
            try await lfs.stop()
            #expect(await errorCode { _ = try await Self.last(stopped) } == .notRunning)
        }
    }

    @Test("The progress of an unknown file fails with `unknownFile`")
    func unknownProgress() async throws {
        try await withLFS { _, lfs in
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000000"))
            #expect(await errorCode { _ = try await lfs.uploadProgress(of: id) } == .unknownFile)
        }
    }

    private static func last(
        _ progress: AsyncThrowingStream<TransferProgress, any Error>
    ) async throws -> Double? {
        var last: Double?
        for try await step in progress { last = step.fractionCompleted }
        return last
    }
}

@Suite("Fetching written rows", .timeLimit(.minutes(10)))
struct FetchedRowTests {
    @Test("A fetched row has its current update id")
    func updateID() async throws {
        try await withLFS { host, lfs in
            let made = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in
                var ids: [String] = []
                func check(_ file: FileData?) throws {
                    let row = try FileData.fetchOne(db, key: made.id)
                    #expect(file == row)
                    ids.append(row?.updateID ?? "")
                }
                try check(made.insertAndFetch(db))
                var file = made
                file.name = "a"
                try check(file.updateAndFetch(db))
                try check(file.updateChangesAndFetch(db) { $0.name = "b" })
                #expect(try file.updateChangesAndFetch(db) { $0.name = "b" } == nil)
                try check(file.saveAndFetch(db))
                file.name = "c"
                try check(file.upsertAndFetch(db))
                #expect(Set(ids).count == 5 && ids == ids.sorted() && !ids.contains(""))
                #expect(throws: RecordError.self) { try made.insertAndFetch(db, onConflict: .ignore) }
                try FileData.deleteAll(db)
                try check(made.saveAndFetch(db))
                #expect(throws: RecordError.self) {
                    try FileData.deleteAll(db)
                    _ = try made.updateAndFetch(db)
                }
                try made.insert(db)
            }
        }
    }
}
