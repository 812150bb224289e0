import Foundation
import GRDB
import LFS
import LFSStorage
import Synchronization
import TestSupport
import Testing

/// Tests of `LFSStatus.failingSince` with a server that replies over the network.
@Suite("Start of upload failures", .timeLimit(.minutes(10)))
struct FailingSinceTests {
    private static let begin = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(
        "The first refusal sets failingSince across restarts, and a success clears it",
        arguments: [(403, "AccessDenied"), (500, "InternalError")])
    func onServer(_ status: Int, code: String) async throws {
        let isRefusing = Mutex(true)
        let time = Mutex(Self.begin)
        try await withTemporaryFolder { folder in
            try await withFakeS3 { fake, storage in
                fake.fail(.put, times: .max) { exchange in
                    if isRefusing.withLock({ $0 }) {
                        try exchange.refuse(.error(status, code: code))
                    } else {
                        try exchange.send(exchange.act())
                    }
                }
                let database = try DatabasePool(path: folder.child("app.sqlite").path)
                var migrator = DatabaseMigrator()
                migrator.registerLFSMigrations()
                try migrator.migrate(database)
                var options = LFSOptions(storage: storage)
                options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20))
                options.wallClock = { time.withLock { $0 } }
                for start in 0..<3 {
                    time.withLock { $0 = Self.begin + Double(start) * 100 }
                    fake.forgetOperations()
                    let lfs = try await LFSManager.open(database, options: options)
                    try lfs.start()
                    let file = try await lfs.makeFile(from: .bytes([UInt8(start)]))
                    try await database.write { try file.insert($0) }
                    try await lfs.retry()
                    try await yield(while: fake.count(.put) == 0)
                    try await lfs.stop()
                    // The stop has recorded the outcome.
                    #expect(try await database.read { try LFSStatus($0).failingSince } == Self.begin)
                }
                isRefusing.withLock { $0 = false }
                time.withLock { $0 += 1_000 }
                let lfs = try await LFSManager.open(database, options: options)
                try lfs.start()
                try await lfs.retry()
                try await lfs.waitForUploads()
                let now = try await lfs.status()
                #expect(now.failingSince == nil && now.remote == 3)
                try await lfs.stop()
                try database.close()
            }
        }
    }
}
