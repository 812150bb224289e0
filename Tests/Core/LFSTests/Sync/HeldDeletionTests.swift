import Foundation
import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

@Suite("Held deletions", .timeLimit(.minutes(10)))
struct HeldDeletionTests {
    @Test("A held deletion removes nothing, and no wait or verification reports it")
    func held() async throws {
        let storage = ScriptedStorage(beforeDelete: { key, _ in Issue.record("asked to delete \(key)") })
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            try await host.holdDeletions()
            let files = try await keptFiles(2, host: host, lfs: lfs)
            try await host.delete(files[0].id)
            try await #expect(lfs.waitForDeletions() == 0)
            try await #expect(lfs.retryDeletions() == 0)
            try await #expect(host.database.read(TombstoneTable.heldCount) == 1)
            try #expect(host.filesInStore() == Set(files.map(\.id)))
            var options = VerifyOptions()
            options.checksContent = true
            options.repairs = true
            options.removesUnknown = true
            options.localGracePeriod = .zero
            options.remoteGracePeriod = .zero
            let log = EventLog<VerifyFinding>()
            try await lfs.verify(options) { log.add($0) }
            #expect(log.events.map(\.message) == [])
            try await lfs.waitForDeletions()
            try #expect(files.allSatisfy(storage.memory.has))
            try #expect(host.filesInStore() == Set(files.map(\.id)))
        }
    }

    @Test("An accepted deletion is carried out exactly once", arguments: [true, false])
    func accepted(removesObject: Bool) async throws {
        let deleted = EventLog<ObjectKey>()
        let storage = ScriptedStorage(beforeDelete: { key, _ in deleted.add(key) })
        try await withLFS(storage: storage) { host, lfs in
            try await host.holdDeletions()
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            try await host.delete(file.id)
            try await #expect(host.accept(file.id, removesObject: removesObject))
            try await yield(while: host.count("lfs_tombstone") > 0)
            try #expect(host.filesInStore().isEmpty)
            try #expect(storage.memory.has(file) == !removesObject)
            #expect(deleted.events.map(\.rawValue) == (removesObject ? [file.key] : []))
            // A repeated or late answer does nothing.
            try await #expect(!host.accept(file.id))
            try await #expect(!host.reject(file.id))
            try #expect(host.file(file.id) == nil)
        }
    }

    @Test("An accepted deletion keeps nothing of the row")
    func forgotten() async throws {
        try await withHost { host in
            try await host.holdDeletions()
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()), name: "secret.txt")
                try await host.database.write { try file.insert($0) }
                try await host.delete(file.id)
                try await #expect(host.row("lfs_tombstone", of: file.id)?.contains("secret") == true)
                try await host.accept(file.id)
                try await #expect(host.row("lfs_tombstone", of: file.id)?.contains("secret") == false)
            }
        }
    }

    @Test(
        "A rejected deletion restores the row with its bytes, upload and pin",
        arguments: ["remote", "damaged", "foreign", "queued", "failed", "cancelled", "lost"])
    func rejected(kind: String) async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await host.holdDeletions()
            var file: FileData?
            try await withManager(host) { lfs in
                if kind != "remote", kind != "damaged" { lfs.pause() }
                let made = try await lfs.makeFile(from: .bytes(someBytes()), name: "a\u{0}b", contentType: "text/plain")
                if kind == "foreign" {
                    file = try await host.receiveUploaded(someBytes())
                } else {
                    try await host.database.write { try made.insert($0) }
                    file = made
                }
                if !lfs.isPaused { try await lfs.waitForUploads() }
            }
            let id = try #require(file).id
            let before = try await withHeld(host, id: id, kind: kind)
            try await host.delete(id)
            try #expect(host.count("lfs_file") == 0)
            try #expect(host.count("lfs_job") == 0)
            try await #expect(host.reject(id))
            let after = try await rows(host, id: id)
            #expect(after == before)
            try #expect(host.count("lfs_tombstone") == 0)
            let updateID = try host.file(id)?.updateID
            #expect(try #require(updateID) > before.updateID)
            try #expect(host.count("lfs_state WHERE isApplying = 0") == 1)
            try await withManager(host) { lfs in
                try await lfs.waitForDeletions()
                guard kind != "lost" else { return }
                let kept = try #require(try host.file(id))
                try await #expect(read(kept, lfs: lfs)?.count == 1_000)
            }
        }
    }

    private struct Rows: Equatable {
        var file: String?
        var job: String?
        var isPinned: Bool
        var updateID: String

        static func == (left: Rows, right: Rows) -> Bool {
            (left.file, left.job, left.isPinned) == (right.file, right.job, right.isPinned)
        }
    }

    private func rows(_ host: TestHost, id: FileID) async throws -> Rows {
        let job = try await host.database.read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT state, lane, byteCount, errorCode, errorMessage, hex(checkpoint), replacesObject FROM lfs_job
                    WHERE fileID = ?
                    """,
                arguments: [id]
            ).map { "\($0)" }
        }
        return Rows(
            file: try await host.row("lfs_file", of: id, without: "updateID"), job: job,
            isPinned: try host.count("lfs_copy WHERE isPinned = 1") == 1,
            updateID: try #require(try host.file(id)?.updateID))
    }

    /// Sets the state of the file's rows.
    private func withHeld(_ host: TestHost, id: FileID, kind: String) async throws -> Rows {
        try await host.database.write { db in
            try CopyTable.pin(id, db)
            let change: String? =
                switch kind {
                case "failed": "state = 'failed', errorCode = 'forbidden', errorMessage = 'Not you.'"
                case "cancelled": "state = 'cancelled'"
                case "queued": "checkpoint = x'01'"
                default: nil
                }
            if let change { try db.execute(sql: "UPDATE lfs_job SET \(change)") }
            if kind == "damaged" || kind == "foreign" {
                try JobTable.noteDamage(of: id, "other bytes", now: 0, db)
            }
            if kind == "lost" { try JobTable.remove([id], db) }
        }
        return try await rows(host, id: id)
    }

    @Test("A held deletion is cancelled when the app inserts the file again")
    func insertedAgain() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            try await host.holdDeletions()
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            let known = try #require(try host.file(file.id))
            try await host.delete(file.id)
            try await host.database.write { try known.insert($0) }
            try await #expect(!host.accept(file.id))
            try await lfs.waitForDeletions()
            try #expect(storage.has(file))
            try #expect(host.filesInStore() == [file.id])
            // A record from before the upload also cancels the deletion. Then the file is uploaded again.
            try await host.delete(file.id)
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            try #expect(host.file(file.id)?.status == .remote)
        }
    }

    @Test("A held deletion wins over a change from another device")
    func renamedElsewhere() async throws {
        try await withLFS { host, lfs in
            try await host.holdDeletions()
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            var renamed = ReceivedFile(file, status: "remote")
            renamed.name = "other"
            let change = renamed
            try await host.delete(file.id)
            let error = await #expect(throws: DatabaseError.self) { try await host.receive(change) }
            #expect(error?.message == InsertRefusal.held.message)
            try #expect(host.file(file.id) == nil)
            try await host.reject(file.id)
            try await host.receive(change)
            try #expect(host.file(file.id)?.name == "other")
        }
    }

    @Test("A held deletion during an upload keeps the bytes until the answer", arguments: [true, false])
    func duringUpload(isAccepted: Bool) async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, call in if call == 1 { try await gate.pass() } })
        try await withLFS(storage: storage) { host, lfs in
            try await host.holdDeletions()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await host.delete(file.id)
            gate.opened.open()
            try await yield(while: !lfs.pool.isIdle)
            try await lfs.waitForDeletions()
            try await #expect(lfs.hasLocalCopy(of: file.id))
            if isAccepted {
                // No other device knows of the object, so this device removes it even if the server normally removes
                // objects.
                try await host.accept(file.id, removesObject: false)
                try await yield(while: host.count("lfs_tombstone") > 0)
                #expect(storage.memory.keys.isEmpty)
                try #expect(host.filesInStore().isEmpty)
            } else {
                try await host.reject(file.id)
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
                try #expect(storage.memory.has(file))
                try #expect(host.filesInStore() == [file.id])
            }
        }
    }

    @Test("A held deletion keeps staged bytes, even when the database is opened again")
    func staged() async throws {
        try await withHost { host in
            try await host.holdDeletions()
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            var made: [FileData] = []
            try await withManager(host, options: options, starts: false) { lfs in
                for _ in 0..<2 { made.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
                let file = made[0]
                try await host.database.write { try file.insert($0) }
                try await host.delete(file.id)
                try await lfs.discard(file)
                // The test waits until the grace period of the other file is over.
                try await yield(while: Date().millisecondsSince1970 <= made[1].id.milliseconds)
            }
            try await withManager(host, options: options, starts: false) { lfs in
                try #expect(host.filesInTemporary() == [made[0].id])
            }
            try await host.reject(made[0].id)
            try await withManager(host, options: options) { lfs in
                try await lfs.waitForUploads()
                try #expect(host.file(made[0].id)?.status == .remote)
            }
        }
    }

    @Test("The copy of a held deletion can be evicted only if its file is uploaded")
    func eviction() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            try await host.holdDeletions()
            let files = try await keptFiles(2, host: host, lfs: lfs)
            try await lfs.pin([files[1].id])
            lfs.pause()
            let pending = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try pending.insert($0) }
            try await yield(while: host.filesInStore().count < 3)
            for id in files.map(\.id) + [pending.id] { try await host.delete(id) }
            let report = try await lfs.evictAll()
            #expect(report.evicted.files == 1)
            #expect(report.stays[.pinned]?.files == 1 && report.stays[.notUploaded]?.files == 1)
            try #expect(host.filesInStore() == [files[1].id, pending.id])
            for id in files.map(\.id) + [pending.id] { try await host.reject(id) }
            lfs.resume()
            try await lfs.waitForUploads()
            for file in files + [pending] { try await #expect(read(file, lfs: lfs)?.count == 1_000) }
        }
    }

    @Test("Deletions are held only if enabled, and received ones are not held")
    func notHeld() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                let first = ReceivedFile(someBytes())
                try await host.database.write { try file.insert($0) }
                try await host.receive(first)
                try await host.delete(file.id)
                try #expect(host.count("lfs_tombstone WHERE isHeld = 0 AND removesObject = 1") == 1)
                try await host.holdDeletions()
                try await host.receiveDeletion(of: first.id)
                try #expect(host.count("lfs_tombstone WHERE isHeld = 0 AND removesObject = 0") == 1)
                try await #expect(!host.reject(file.id))
                try await #expect(!host.accept(first.id))
                try #expect(host.count("lfs_tombstone") == 2)
            }
        }
    }

    @Test("A rejected deletion whose row cannot be restored stays held")
    func notGivenBack() async throws {
        try await withHost { host in
            try await host.holdDeletions()
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await host.delete(file.id)
                try await host.database.write { db in
                    try db.execute(
                        sql: """
                            CREATE TRIGGER refuse BEFORE INSERT ON lfs_file
                            BEGIN SELECT RAISE(ABORT, 'no'); END
                            """)
                    #expect(throws: DatabaseError.self) { try TombstoneTable.reject(file.id, db) }
                    try db.execute(sql: "DROP TRIGGER refuse")
                }
                try await #expect(host.database.read(TombstoneTable.heldCount) == 1)
                try await #expect(host.reject(file.id))
            }
        }
    }
}
