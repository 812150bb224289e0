import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

@Suite("Offloading in the background", .timeLimit(.minutes(10)))
struct OffloadTests {
    @Test("A temporary failure is retried until the upload succeeds")
    func retries() async throws {
        let storage = ScriptedStorage(beforeUpload: { _, call in
            if call <= 3 { throw StorageError(.serverError, message: "The server had a bad moment.") }
        })
        try await withLFS(storage: storage) { host, lfs in
            let events = lfs.events(bufferingPolicy: .unbounded)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            #expect(try await lfs.waitForUploads().failed == 0)
            #expect(storage.uploads == 4)
            var seen: [String] = []
            for await event in events {
                switch event {
                case .queued: seen.append("queued")
                case .failed(_, let failure, let next): seen.append("\(failure.code) \(next != nil)")
                case .uploaded: seen.append("uploaded")
                default: break
                }
                if case .uploaded = event { break }
            }
            #expect(
                seen.filter { $0 != "queued" } == [
                    "serverError true", "serverError true", "serverError true", "uploaded",
                ])
        }
    }

    @Test("A permanent failure keeps its reason and the local file until retry()")
    func permanentFailure() async throws {
        let isFixed = Latch()
        let storage = ScriptedStorage(beforeUpload: { _, call in
            if call == 1 { throw StorageError(.invalidRequest, message: "The storage has no such files.") }
        })
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            let summary = try await lfs.waitForUploads()
            #expect(
                summary.failures == [
                    UploadFailure(fileID: file.id, code: .invalidRequest, reason: "The storage has no such files.")
                ])
            #expect(try await lfs.status().failed == 1)
            #expect(try host.file(file.id)?.status == .local)
            #expect(try await read(file, lfs: lfs) == bytes)
            isFixed.open()
            #expect(try await lfs.retry([file.id]) == 1)
            #expect(try await lfs.waitForUploads().failed == 0)
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("A paused manager uploads nothing and continues when resumed")
    func pause() async throws {
        let storage = ScriptedStorage()
        try await withLFS(storage: storage) { host, lfs in
            #expect(!lfs.isPaused)
            lfs.pause()
            #expect(lfs.isPaused)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            // The step that adds a job to the pool also starts an executor for it.
            try await yield(while: lfs.pool.heldCount == 0)
            #expect(lfs.pool.executorCount == 0)
            #expect(try await lfs.status().local == 1)
            lfs.resume()
            #expect(!lfs.isPaused)
            #expect(try await lfs.waitForUploads().pending == 0)
        }
    }

    @Test("A cancelled upload stops, keeps the local file and continues with retry()")
    func cancel() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, call in if call == 1 { try await gate.pass() } })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await lfs.cancel(file.id)
            try await lfs.waitForUploads()
            #expect(try await lfs.status().cancelled == 1)
            #expect(try host.file(file.id)?.status == .local)
            #expect(try await lfs.retry() == 1)
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("A retry request skips a failed upload's delay, but not a deliberate one")
    func retryWaiting() async throws {
        try await withHost(storage: ScriptedStorage()) { host in
            try await withManager(host, starts: false) { lfs in
                let tried = try await lfs.makeFile(from: .bytes(someBytes()))
                let putOff = try await lfs.makeFile(from: .bytes(someBytes()))
                let later = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
                try await host.database.write { db in
                    for file in [tried, putOff] { try file.insert(db) }
                    try db.execute(sql: "UPDATE lfs_job SET notBefore = ?", arguments: [later])
                    try db.execute(sql: "UPDATE lfs_job SET attempts = 5 WHERE fileID = ?", arguments: [tried.id])
                }
                try lfs.start()
                try await #expect(lfs.retry() == 0, "no upload has failed")
                try await yield(while: try host.file(tried.id)?.status != .remote)
                #expect(try host.file(putOff.id)?.status == .local)
                try #expect(host.count("lfs_job WHERE notBefore = \(later)") == 1)
            }
        }
    }

    @Test("Stopping returns an upload to the queue, and the next manager carries it out")
    func stopGivesBack() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, call in if call == 1 { try await gate.pass() } })
        try await withHost(storage: storage) { host in
            var options = host.options
            options.shutdownTimeout = .milliseconds(10)
            let lfs = try await LFSManager.open(host.database, options: options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await lfs.stop()
            #expect(try host.file(file.id)?.status == .local)
            #expect(try host.count("lfs_job WHERE state = 'queued' AND attempts = 0") == 1)
            try await withManager(host) { next in
                try await next.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("Stopping waits for an upload that is nearly complete")
    func stopWaits() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, _ in try await gate.pass() })
        try await withHost(storage: storage) { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await lfs.stop() }
                gate.opened.open()
                try await group.waitForAll()
            }
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("Small files are uploaded while a large upload runs")
    func smallPassLarge() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, call in if call == 1 { try await gate.pass() } })
        try await withLFS(storage: storage, configure: { $0.maxExecutors = 2 }) { host, lfs in
            let huge = try await lfs.makeFile(from: .bytes([UInt8](repeating: 1, count: 9 * 1_024 * 1_024)))
            try await host.database.write { try huge.insert($0) }
            await gate.reached.wait()
            let small = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try small.insert($0) }
            try await yield(while: host.file(small.id)?.status != .remote)
            #expect(try host.file(huge.id)?.status == .local)
            gate.opened.open()
        }
    }

    @Test("The progress of a large upload rises and ends with the upload")
    func progress() async throws {
        try await withLFS { host, lfs in
            let file = try await lfs.makeFile(from: .bytes([UInt8](repeating: 1, count: 4 * 1_024 * 1_024)))
            let progress = try await lfs.uploadProgress(of: file.id)
            try await host.database.write { try file.insert($0) }
            var last = 0.0
            for try await step in progress {
                #expect(step.totalBytes == 4 * 1_024 * 1_024)
                #expect(step.fractionCompleted >= last)
                last = step.fractionCompleted
            }
            #expect(last == 1)
            try await lfs.waitForUploads()
        }
    }

    @Test("A file that is deleted and inserted again at once is uploaded or refused")
    func insertedAgain() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            var ids: Set<FileID> = []
            for _ in 0..<200 {
                let file = try await lfs.makeFile(from: .bytes(someBytes(10)))
                try await host.database.write { try file.insert($0) }
                try await host.database.write { _ = try file.delete($0) }
                // The insert is refused once the deletion of the bytes has begun, which is correct too.
                if await errorCode({ try await host.database.write { try file.insert($0) } }) == nil {
                    ids.insert(file.id)
                }
            }
            try await lfs.waitForUploads()
            try await lfs.waitForDeletions()
            #expect(try host.count("lfs_file WHERE status = 'local'") == 0)
            #expect(Set(storage.keys.map { FileID(String($0.rawValue.suffix(36))) }) == ids)
        }
    }

    @Test("The progress of an uploaded file ends at once")
    func progressOfUploaded() async throws {
        try await withLFS { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            for try await _ in try await lfs.uploadProgress(of: file.id) {}
        }
    }

    @Test("Options at their limits do not crash the manager")
    func extremeOptions() async throws {
        let storage = ScriptedStorage(beforeUpload: { _, call in
            if call == 1 { throw StorageError(.serverError, message: "Later.", retryAfter: .milliseconds(1)) }
        })
        try await withLFS(
            storage: storage,
            configure: {
                $0.maxRetryAfter = .seconds(Int64.max)
                $0.temporaryFileGracePeriod = .seconds(Int64.max)
                $0.pollInterval = .seconds(-1)
                $0.maxExecutors = -5
            }
        ) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("Bytes that were corrupted on the device are not uploaded")
    func bitRot() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await yield(while: host.filesInStore().isEmpty)
            let url = host.store.appendingPathComponent(file.id.uuidString)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            var bytes = try Data(contentsOf: url)
            bytes[500] ^= 1
            try bytes.write(to: url)
            lfs.resume()
            let summary = try await lfs.waitForUploads()
            #expect(summary.failures.map(\.code) == [.sourceChanged])
            #expect(FileManager.default.fileExists(atPath: url.path))
        }
    }
}
