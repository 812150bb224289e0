import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSignedURL

/// Tests of an app's whole queue with a signing server.
@Suite("Upload queues with a signing server", .timeLimit(.minutes(10)))
struct QueueTests {
    private struct SignedOut: Error {}

    /// The sign-in state of a user. The mutex owns it.
    private final class User: Sendable {
        private let state = Mutex((isIn: true, refused: 0))
        var refused: Int { state.withLock { $0.refused } }

        func sign(in isIn: Bool) { state.withLock { $0.isIn = isIn } }

        func token() throws -> String {
            try state.withLock { state in
                guard state.isIn else {
                    state.refused += 1
                    throw SignedOut()
                }
                return Canary.token
            }
        }
    }

    private func insert(_ count: Int, from start: Int, database: DatabasePool, lfs: LFSManager) async throws {
        var files: [FileData] = []
        for number in start..<start + count {
            files.append(try await lfs.makeFile(from: .bytes(Data("file \(number)".utf8))))
        }
        let made = files
        try await database.write { db in for file in made { try file.insert(db) } }
    }

    /// The clock does not advance. The app calls `resume()` after its user has signed in, as the guide says.
    @Test("A sign-out during uploads fails no file, and all arrive after the sign-in")
    func signOut() async throws {
        try await withTemporaryFolder { folder in
            let (fake, user) = (FakeSigner(), User())
            let storage = try fake.storage(authorization: .bearer { _ in try user.token() })
            let database = try DatabasePool(path: folder.appendingPathComponent("app.sqlite").path)
            var migrator = DatabaseMigrator()
            migrator.registerLFSMigrations()
            try migrator.migrate(database)
            var options = LFSOptions(storage: storage)
            options.pollInterval = .seconds(3_600)
            let lfs = try await LFSManager.open(database, options: options)
            try lfs.start()
            try await insert(60, from: 0, database: database, lfs: lfs)
            try await lfs.waitForUploads()
            #expect(fake.objects.count == 60)
            // The token expires, and the app has no other one.
            user.sign(in: false)
            fake.state.withLock { $0.tokens = [] }
            try await insert(120, from: 60, database: database, lfs: lfs)
            try await yieldAsync { try await lfs.status().outage == nil }
            #expect(try await lfs.status().outage?.code == .unauthorized)
            let failed = try await database.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job WHERE state = 'failed' OR attempts > 0")
            }
            #expect(failed == 0)
            #expect(fake.objects.count < 180)
            fake.state.withLock { $0.tokens = [Canary.token] }
            user.sign(in: true)
            lfs.resume()
            try await lfs.waitForUploads()
            #expect(fake.objects.count == 180)
            let rows = try await database.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM lfs_file").map { "\($0)" }
                    + Row.fetchAll(db, sql: "SELECT * FROM lfs_job").map { "\($0)" }
            }
            for secret in Canary.all { #expect(!rows.contains { $0.contains(secret) }) }
            try await lfs.stop()
        }
    }
}
