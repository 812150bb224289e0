import Foundation
import GRDB
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@testable import LFS

@Suite("What calls tell", .timeLimit(.minutes(10)))
struct ErrorsTests {
    @Test("tell what is gone for good from what may work later")
    func missing() {
        let object = StorageError(.missing, "Nothing there.")
        #expect(LFSError(.storage, "Nothing there.", cause: object).isMissing)
        for code in [LFSError.Code.unknownFile, .bytesMissing, .deleted] { #expect(LFSError(code, "Gone.").isMissing) }
        // A folder or a file that was to be taken in is another matter.
        for code in [LFSError.Code.missing, .folderAbsent, .notRunning, .sourceChanged] {
            #expect(!LFSError(code, "Not here.").isMissing)
        }
        #expect(!LFSError(.storage, "Away.", cause: StorageError(.unreachable, "Away.")).isMissing)
    }

    @Test("A wait for uploads whose task is cancelled ends with LFSError.cancelled")
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

    @Test("A URL that is not of a file is refused with what to do, and without its secrets")
    func remoteURL() async throws {
        try await withLFS { _, lfs in
            let url = try #require(URL(string: "https://user:secret@example.com/photo.jpg?token=secret"))
            for source in [FileSource.file(url), .movingFile(url)] {
                do {
                    _ = try await lfs.makeFile(from: source)
                    Issue.record("It is taken.")
                } catch let error as LFSError {
                    #expect(error.code == .notAFile)
                    #expect(error.message.contains("Fetch it first") && !error.message.contains("secret"))
                }
            }
        }
    }

    @Test("The progress of an upload ends complete if and only if it is through")
    func progress() async throws {
        let (gate, held) = (Gate(), Gate())
        let storage = ScriptedStorage(beforeUpload: { _, call in
            if call == 1 { try await gate.pass() }
            if call == 2 { throw StorageError(.tooLarge, "Too large.") }
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

    @Test("The progress of a file that nobody has made is an error and no stream without an end")
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

@Suite("Writing and fetching a row in one", .timeLimit(.minutes(10)))
struct FetchedRowTests {
    @Test("gives the updateID that the row has then")
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
