import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import Testing

@Suite("Verification during other work", .timeLimit(.minutes(10)))
struct RaceTests {
    /// A step that runs once, at a given call. A file that looks wrong is checked twice, the second time directly
    /// before it is reported.
    private final class Once: Sendable {
        private let calls = Mutex(0)
        private let number: Int
        private let step: @Sendable () async throws -> Void

        init(onCall number: Int = 1, _ step: @escaping @Sendable () async throws -> Void) {
            self.number = number
            self.step = step
        }

        func run() async throws {
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == number { try await step() }
        }

        var hasRun: Bool { calls.withLock { $0 >= number } }
    }

    @Test("A file that is deleted between the listing and the second check is not reported")
    func deletedDuringListing() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            let once = Once {
                try checked.plant(nil, at: checked.object(files[1]))
                try await checked.host.database.write { db in _ = try files[1].delete(db) }
            }
            try checked.plant(nil, at: checked.object(files[1]))
            checked.storage.beforeHead { _ in try await once.run() }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs)
                #expect(findings.isEmpty && report.files == 3)
                #expect(once.hasRun)
            }
        }
    }

    @Test("A file that is deleted after its object was missing is not reported", arguments: [1, 2])
    func deletedAfterHead(call: Int) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[0]))
            let once = Once(onCall: call) {
                try await checked.host.database.write { db in _ = try files[0].delete(db) }
            }
            checked.storage.afterHead { _ in try await once.run() }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs).findings.isEmpty)
                #expect(once.hasRun)
            }
        }
    }

    @Test("A file is verified although its upload is retried at the same time")
    func triedMeanwhile() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.pending(1)
            try checked.plant(nil, at: checked.local(files[0].id))
            checked.storage.beforeHead { _ in
                try await checked.host.database.write { db in
                    try db.execute(
                        sql: """
                            UPDATE lfs_job SET attempts = attempts + 1, notBefore = notBefore + 1,
                                errorCode = 'sourceUnreadable', errorMessage = 'try ' || attempts
                            """)
                }
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.kind) == [.missingLocally])
                #expect(report.lostBytes == files[0].byteCount)
            }
        }
    }

    @Test("An object that returns between the listing and the second check is not reported")
    func uploadedAfterListing() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            try checked.plant(nil, at: checked.object(files[0]))
            checked.storage.beforeHead { _ in try checked.plant(bytes, at: checked.object(files[0])) }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
            #expect(checked.storage.heads > 0)
        }
    }

    @Test("An object whose row is inserted after the listing is not an orphan", arguments: [true, false])
    func insertedDuringListing(isKept: Bool) async throws {
        try await withCheckedHost { checked in
            _ = try await checked.uploaded(2)
            let id = FileID.make(at: Date(timeIntervalSinceNow: -30 * 86_400))
            let key = try "\(checked.namespace())/\(id)"
            try checked.plant(someBytes(), at: checked.remote.appendingPathComponent(key))
            let once = Once {
                try await checked.host.database.write { db in
                    if !isKept { return }
                    // The row comes from another copy of this database.
                    try db.execute(
                        sql: """
                            INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                            SELECT ?, 'remote', url, byteCount, sha256, ?, createdAt FROM lfs_file LIMIT 1
                            """,
                        arguments: [id, key])
                }
            }
            // The row is inserted after the rows of this page were compared with the listing.
            checked.storage.beforeHead { asked in if asked == key { try await once.run() } }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs, repairs: true) { $0.removesUnknown = true }
                #expect(once.hasRun)
                #expect(findings.map(\.kind) == (isKept ? [] : [.orphanedRemotely]))
            }
            try #expect(checked.host.count("lfs_tombstone") == (isKept ? 0 : 1))
        }
    }

    @Test("An object that is deleted after the listing is not an orphan")
    func deletedOrphan() async throws {
        try await withCheckedHost { checked in
            _ = try await checked.uploaded(1)
            let id = FileID.make(at: Date(timeIntervalSinceNow: -30 * 86_400))
            let url = try checked.remote.appendingPathComponent("\(checked.namespace())/\(id)")
            try checked.plant(someBytes(), at: url)
            checked.storage.beforeHead { key in if key.hasSuffix(id.uuidString) { try checked.plant(nil, at: url) } }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    @Test("A local copy that is replaced during the check is not reported", arguments: [1, 2])
    func replacedHere(call: Int) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(1)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            try checked.plant(someBytes(), at: checked.local(files[0].id))
            let once = Once(onCall: call) { try checked.plant(bytes, at: checked.local(files[0].id)) }
            checked.storage.beforeHead { _ in try await once.run() }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs, repairs: true).findings.isEmpty)
                #expect(once.hasRun)
            }
            let now = try [UInt8](Data(contentsOf: checked.local(files[0].id)))
            #expect(now == bytes)
        }
    }

    @Test("A file whose upload is running is not reported")
    func uploading() async throws {
        let gated = GatedStorage(InMemoryStorage())
        try await withLFS(storage: gated) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gated.waitForArrivals(1)
            let log = Mutex<[VerifyFinding]>([])
            try await lfs.verify { finding in log.withLock { $0.append(finding) } }
            #expect(log.withLock { $0 }.isEmpty)
            gated.open()
            try await lfs.waitForUploads()
            try await lfs.verify { finding in log.withLock { $0.append(finding) } }
            #expect(log.withLock { $0 }.isEmpty)
        }
    }

    @Test("A copy that may be the last one is not evicted during its check")
    func freeing() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(2)[0]
            try checked.plant(nil, at: checked.object(file))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let gate = Gate()
                let once = Once { try await gate.pass() }
                checked.storage.beforeHead { _ in try await once.run() }
                async let verified = checked.verify(lfs, repairs: true) { $0.acceptsEmpty = true }
                await gate.reached.wait()
                let report = try await lfs.evict(EvictionPolicy(maxByteCount: 0))
                #expect(report.stays[.inUse]?.files ?? 0 >= 1)
                gate.opened.open()
                let (_, findings) = try await verified
                #expect(findings.map(\.outcome) == [.underWay])
                try #expect(checked.host.filesInStore().contains(file.id))
            }
        }
    }

    @Test("A file between commit and promotion is not reported")
    func unpromoted() async throws {
        try await withCheckedHost { checked in
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await checked.host.database.write { try file.insert($0) }
                try #expect(checked.host.filesInTemporary() == [file.id])
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    /// Statements with which an app saves a record under another name, with its present state or that from before the
    /// upload.
    static let saves = [
        "UPDATE lfs_file SET status = 'remote', name = 'other' WHERE id = :id",
        "UPDATE lfs_file SET status = 'local', url = NULL, name = 'other' WHERE id = :id",
        """
        REPLACE INTO lfs_file (id, status, url, name, byteCount, sha256, key, createdAt)
        SELECT id, 'remote', url, 'other', byteCount, sha256, key, createdAt FROM lfs_file WHERE id = :id
        """,
        """
        REPLACE INTO lfs_file (id, status, name, byteCount, sha256, key, createdAt)
        SELECT id, 'local', 'other', byteCount, sha256, key, createdAt FROM lfs_file WHERE id = :id
        """,
        """
        INSERT INTO lfs_file (id, status, name, byteCount, sha256, key, createdAt)
        SELECT id, 'local', 'other', byteCount, sha256, key, createdAt FROM lfs_file WHERE id = :id
        ON CONFLICT (id) DO UPDATE SET status = excluded.status, url = excluded.url, name = excluded.name
        """,
        """
        CREATE TEMP TABLE saved AS SELECT * FROM lfs_file WHERE id = :id;
        DELETE FROM lfs_file WHERE id = :id;
        INSERT INTO lfs_file (id, status, url, name, byteCount, sha256, key, createdAt)
        SELECT id, status, url, 'other', byteCount, sha256, key, createdAt FROM saved
        """,
    ]

    @Test(
        "A save by the app does not end a repeated upload, and eviction waits for it", arguments: saves,
        [false, true])
    func saveDuringRepair(sql: String, recursiveTriggers: Bool) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[0]))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs, repairs: true) { $0.removesUnknown = true }
                #expect(findings.map(\.outcome) == [.underWay])
                let id = files[0].id
                try await checked.host.database.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers ? 1 : 0)")
                    try db.execute(sql: "INSERT INTO lfs_copy (fileID, isPinned) VALUES (?, 1)", arguments: [id])
                    try db.inTransaction {
                        for statement in sql.split(separator: ";") {
                            try db.execute(
                                sql: String(statement), arguments: statement.contains(":id") ? ["id": id] : [])
                        }
                        return .commit
                    }
                }
                try #expect(checked.host.count("lfs_copy WHERE isPinned") == 1)
                try #expect(checked.host.count("lfs_tombstone") == 0)
                try #expect(checked.host.count("lfs_job WHERE state = 'queued'") == 1)
                let code = await errorCode { try await lfs.evict(files[0].id) }
                #expect(code == .notUploaded)
            }
            try await withManager(checked.host, options: checked.options) { lfs in
                try await lfs.waitForUploads()
                try await #expect(checked.verify(lfs).findings.isEmpty)
                try await lfs.unpin([files[0].id])
                try await lfs.evict(files[0].id)
            }
            let file = try #require(try checked.host.file(files[0].id))
            #expect(file.name == "other" && file.status == .remote && file.url != nil)
            #expect(FileManager.default.fileExists(atPath: checked.object(files[0]).path))
        }
    }

    @Test("A cancelled verification ends with an error and changes nothing")
    func cancelled() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            try checked.plant(nil, at: checked.object(files[0]))
            let before = try checked.snapshot()
            let gate = Gate()
            checked.storage.beforeHead { _ in try await gate.pass() }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let run = Task { await errorCode { _ = try await checked.verify(lfs, repairs: true) } }
                await gate.reached.wait()
                run.cancel()
                gate.opened.open()
                #expect(await run.value != nil)
            }
            let after = try checked.snapshot()
            #expect(after == before)
        }
    }
}
