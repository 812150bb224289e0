import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import Testing

/// Tests of `LFSStatus.failingSince` and of holding uploads.
@Suite("Start of upload failures", .timeLimit(.minutes(10)))
struct FailingSinceTests {
    @Test(
        "The time of the first failure is kept over restarts until an upload succeeds",
        arguments: [StorageError.Code.forbidden, .serverError, .unreachable])
    func overRestarts(code: StorageError.Code) async throws {
        let isFailing = Mutex(true)
        let failed = AsyncStream.makeStream(of: Int.self)
        let storage = ScriptedStorage(beforeUpload: { _, call in
            guard isFailing.withLock({ $0 }) else { return }
            failed.continuation.yield(call)
            throw StorageError(code, message: "not now")
        })
        let time = TestTime(Date(timeIntervalSince1970: 1_800_000_000))
        try await withHost(storage: storage) { host in
            var options = host.options
            options.wallClock = { time.now }
            for start in 0..<3 {
                time.now = Date(timeIntervalSince1970: 1_800_000_000 + Double(start) * 100)
                try await withManager(host, options: options) { lfs in
                    let file = try await lfs.makeFile(from: .bytes([UInt8(start)]))
                    try await host.database.write { try file.insert($0) }
                    try await lfs.retry()
                    for await _ in failed.stream { break }
                }
                // Reads after the stop, because the outcome is recorded then.
                let since = try await host.database.read { try LFSStatus($0).failingSince }
                #expect(since == Date(timeIntervalSince1970: 1_800_000_000))
            }
            isFailing.withLock { $0 = false }
            time.now += 1_000
            try await withManager(host, options: options) { lfs in
                try await lfs.retry()
                try await lfs.waitForUploads()
                #expect(try await lfs.status().failingSince == nil)
            }
        }
    }

    @Test("Held uploads start when they are released, and the status shows the reason")
    func hold() async throws {
        let storage = ScriptedStorage()
        try await withLFS(storage: storage) { host, lfs in
            try await lfs.holdUploads(because: "waits for mains power")
            let file = try await lfs.makeFile(from: .bytes([1]))
            try await host.database.write { try file.insert($0) }
            let summary = try await lfs.waitForUploads(timeout: .milliseconds(300))
            #expect(summary.pending == 1)
            #expect(storage.uploads == 0)
            #expect(try await lfs.status().hold?.reason == "waits for mains power")
            // Pausing and resuming does not end the hold.
            lfs.pause()
            lfs.resume()
            #expect(try await lfs.waitForUploads(timeout: .milliseconds(100)).pending == 1)
            try await lfs.releaseUploads()
            try await lfs.waitForUploads()
            #expect(storage.uploads == 1)
            #expect(try await lfs.status().hold == nil)
        }
    }

    @Test("The hold of an earlier process does not appear in the status of the next one")
    func forgottenHold() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in try await lfs.holdUploads(because: "waits for mains power") }
            #expect(try await host.database.read { try LFSStatus($0).hold } != nil)
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes([1]))
                try await host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                #expect(try await lfs.status().hold == nil)
            }
        }
    }
}
