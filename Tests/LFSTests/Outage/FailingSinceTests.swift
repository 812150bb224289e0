import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import Testing

/// `LFSStatus.failingSince`, and what uploads wait for.
@Suite("Since when uploads fail", .timeLimit(.minutes(10)))
struct FailingSinceTests {
    @Test(
        "The first failure notes the time, later ones and restarts leave it, and a success clears it",
        arguments: [StorageError.Code.forbidden, .serverError, .unreachable])
    func overRestarts(code: StorageError.Code) async throws {
        let isFailing = Mutex(true)
        let failed = AsyncStream.makeStream(of: Int.self)
        let storage = ScriptedStorage(beforeUpload: { _, call in
            guard isFailing.withLock({ $0 }) else { return }
            failed.continuation.yield(call)
            throw StorageError(code, "not now")
        })
        let time = TestTime(Date(timeIntervalSince1970: 1_800_000_000))
        try await withHost(storage: storage) { host in
            var options = host.options
            options.wallClock = { time.now }
            for start in 0..<3 {
                time.now = Date(timeIntervalSince1970: 1_800_000_000 + Double(start) * 100)
                try await withManager(host, options) { lfs in
                    let file = try await lfs.makeFile(from: .bytes([UInt8(start)]))
                    try await host.database.write { try file.insert($0) }
                    try await lfs.retry()
                    for await _ in failed.stream { break }
                }
                // After the stop, when the outcome is written down.
                let since = try await host.database.read { try LFSStatus($0).failingSince }
                #expect(since == Date(timeIntervalSince1970: 1_800_000_000))
            }
            isFailing.withLock { $0 = false }
            time.now += 1_000
            try await withManager(host, options) { lfs in
                try await lfs.retry()
                try await lfs.waitForUploads()
                #expect(try await lfs.status().failingSince == nil)
            }
        }
    }

    @Test("Uploads that are held begin when they are released, and the reason is in the status meanwhile")
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
            // A person's pause is another matter.
            lfs.pause()
            lfs.resume()
            #expect(try await lfs.waitForUploads(timeout: .milliseconds(100)).pending == 1)
            try await lfs.releaseUploads()
            try await lfs.waitForUploads()
            #expect(storage.uploads == 1)
            #expect(try await lfs.status().hold == nil)
        }
    }

    @Test("What an earlier process has waited for is not told of the next one")
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
