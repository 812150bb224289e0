import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Received rows of files", .timeLimit(.minutes(10)))
struct ReceivedFileTests {
    @Test("A pending file of another device reads nil and has no upload on this device")
    func pendingElsewhere() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            var received = ReceivedFile(bytes)
            try await host.receive(received)
            try #expect(host.count("lfs_job") == 0)
            let pending = try #require(try host.file(received.id))
            try await #expect(read(pending, lfs: lfs) == nil)
            _ = try await storage.upload(.temporary(bytes), to: ObjectKey(received.key), session: UploadSession())
            received.status = "remote"
            try await host.receive(received)
            let uploaded = try #require(try host.file(received.id))
            try await #expect(read(uploaded, lfs: lfs) == bytes)
            try #expect(host.count("lfs_job") == 0)
        }
    }

    @Test("A received row of a lost file of this device gets no upload")
    func knownLoss() async throws {
        try await withLFS { host, lfs in
            let other = try await lfs.makeFile(from: .bytes(someBytes()))
            let lost = try await lost(host, lfs: lfs)
            try await host.receive(ReceivedFile(lost))
            try #expect(host.count("lfs_job") == 0)
            #expect(await errorCode { _ = try await read(lost, lfs: lfs) } == .bytesMissing)
            let again = try #require(try host.file(lost.id))
            #expect(again.status == .local)
            // For the app, the check for missing bytes and the upload work as before.
            try await host.database.write { _ = try again.delete($0) }
            try await lfs.waitForDeletions()
            #expect(await errorCode { try await host.database.write { try lost.insert($0) } } == .bytesMissing)
            try await host.database.write { db in
                try other.insert(db)
                try #expect(Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job") == 1)
            }
        }
    }

    /// Returns a file of this device without bytes and without a row.
    private func lost(_ host: TestHost, lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await lfs.discard(file)
        return file
    }

    @Test("A received row does not change an uploaded file back to local")
    func neverBackToLocal() async throws {
        try await withLFS { host, lfs in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            var late = ReceivedFile(file)
            late.name = "renamed"
            try await host.receive(late)
            let now = try #require(try host.file(file.id))
            #expect(now.status == .remote && now.name == "renamed")
            #expect(now.url != nil)
        }
    }

    @Test("A received uploaded row ends the upload of an older copy of the database")
    func olderCopy() async throws {
        try await withLFS { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try #expect(host.count("lfs_job") == 1)
            try await host.receive(ReceivedFile(file, status: "remote"))
            try #expect(host.file(file.id)?.status == .remote)
            try #expect(host.count("lfs_job") == 0)
            // The bytes still move into the store automatically. No upload is left to wait for.
            try await yield(while: try !host.filesInTemporary().isEmpty)
            lfs.resume()
        }
    }

    @Test("A received row keeps an upload that sent parts, and a noted damage or loss", arguments: [0, 1, 2])
    func keptJobs(_ kind: Int) async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { db in
                    try file.insert(db)
                    switch kind {
                    case 0: try db.execute(sql: "UPDATE lfs_job SET checkpoint = x'01'")
                    case 1: try JobTable.noteLoss(of: file.id, "gone", now: 0, db)
                    default:
                        try db.execute(sql: "UPDATE lfs_file SET status = 'remote', url = 'memory:///a'")
                        try JobTable.queue(file.id, now: 0, db)
                    }
                }
                // For an uploaded file, the row of a late page fires the same trigger.
                try await host.receive(ReceivedFile(file, status: kind == 2 ? "local" : "remote"))
                try #expect(host.file(file.id)?.status == .remote)
                try #expect(host.count("lfs_job") == 1)
            }
        }
    }

    @Test("The update ids ascend through received changes and the app's own changes")
    func updateIDs() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                var (received, last) = (ReceivedFile(someBytes()), "")
                let own = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try own.insert($0) }
                for round in 0..<20 {
                    received.name = "name \(round)"
                    try await host.receive(received)
                    let second = try #require(try host.file(received.id)?.updateID)
                    #expect(second > last)
                    try await host.database.write { db in
                        try db.execute(
                            sql: "UPDATE lfs_file SET name = ? WHERE id = ?", arguments: ["\(round)", own.id])
                    }
                    last = try #require(try host.file(own.id)?.updateID)
                    #expect(last > second)
                }
                // A received row without a change writes nothing.
                let before = try host.file(received.id)
                try await host.receive(received)
                try #expect(host.file(received.id) == before)
            }
        }
    }
}

@Suite("Applying received changes", .timeLimit(.minutes(10)))
struct ApplyingTests {
    private struct Failure: Error {}

    private func isApplying(_ db: Database) throws -> Bool? {
        try Bool.fetchOne(db, sql: "SELECT isApplying FROM lfs_state")
    }

    /// Applies a change that throws. Returns true if the error is passed on.
    private func fails(_ db: Database) throws -> Bool {
        do {
            try StateTable.applying(db) { throw Failure() }
            return false
        } catch is Failure {
            return true
        }
    }

    @Test("The applying state ends with its body, and an error rolls the changes back")
    func failing() async throws {
        try await withHost { host in
            let received = ReceivedFile(someBytes())
            try await host.database.write { db in
                #expect(throws: Failure.self) {
                    try StateTable.applying(db) {
                        try #expect(isApplying(db) == true)
                        try received.save(db)
                        throw Failure()
                    }
                }
                try #expect(isApplying(db) == false)
            }
            try #expect(host.count("lfs_file") == 0)
        }
    }

    @Test("A nested applying state ends with the outer one")
    func nested() async throws {
        try await withHost { host in
            try await host.database.write { db in
                try StateTable.applying(db) {
                    try StateTable.applying(db) { try #expect(isApplying(db) == true) }
                    #expect(try fails(db))
                    try #expect(isApplying(db) == true)
                }
                try #expect(isApplying(db) == false)
            }
        }
    }

    @Test("The applying state needs no transaction and is invisible to other connections")
    func otherConnections() async throws {
        try await withHost { host in
            let other = try host.otherDatabase()
            try await host.database.writeWithoutTransaction { db in
                try StateTable.applying(db) {
                    try #expect(other.read { try isApplying($0) } == false)
                }
                try #expect(isApplying(db) == false)
                #expect(!db.isInsideTransaction)
            }
            try other.close()
        }
    }

    @Test("A committed applying state of another program ends when the database is opened")
    func committed() async throws {
        try await withHost { host in
            try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET isApplying = 1") }
            try await withManager(host, starts: false) { _ in
                try #expect(host.count("lfs_state WHERE isApplying = 0") == 1)
            }
        }
    }
}
