import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("A row of a file that came from a server", .timeLimit(.minutes(10)))
struct ReceivedFileTests {
    @Test("of another device's pending file has no upload here and reads nil, until it is uploaded there")
    func pendingElsewhere() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            var received = ReceivedFile(bytes)
            try await host.receive(received)
            try #expect(host.count("lfs_job") == 0)
            let pending = try #require(try host.file(received.id))
            try await #expect(read(pending, lfs) == nil)
            _ = try await storage.upload(.temporary(bytes), to: ObjectKey(received.key), session: UploadSession())
            received.status = "remote"
            try await host.receive(received)
            let uploaded = try #require(try host.file(received.id))
            try await #expect(read(uploaded, lfs) == bytes)
            try #expect(host.count("lfs_job") == 0)
        }
    }

    @Test("of this device's own file whose bytes are not here any more is a row without an upload")
    func knownLoss() async throws {
        try await withLFS { host, lfs in
            let other = try await lfs.makeFile(from: .bytes(someBytes()))
            let lost = try await lost(host, lfs)
            try await host.receive(ReceivedFile(lost))
            try #expect(host.count("lfs_job") == 0)
            #expect(await errorCode { _ = try await read(lost, lfs) } == .bytesMissing)
            let again = try #require(try host.file(lost.id))
            #expect(again.status == .local)
            // For the app the guard is there as before, and so is the upload.
            try await host.database.write { _ = try again.delete($0) }
            try await lfs.waitForDeletions()
            #expect(await errorCode { try await host.database.write { try lost.insert($0) } } == .bytesMissing)
            try await host.database.write { db in
                try other.insert(db)
                try #expect(Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job") == 1)
            }
        }
    }

    /// A file of this device without bytes and row.
    private func lost(_ host: TestHost, _ lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await lfs.discard(file)
        return file
    }

    @Test("that is not uploaded by its own word stays uploaded where this device knows better")
    func neverBackToLocal() async throws {
        try await withLFS { host, lfs in
            let file = try await keptFiles(1, host, lfs)[0]
            var late = ReceivedFile(file)
            late.name = "renamed"
            try await host.receive(late)
            let now = try #require(try host.file(file.id))
            #expect(now.status == .remote && now.name == "renamed")
            #expect(now.url != nil)
        }
    }

    @Test("that is uploaded ends the upload of an older copy of the database, whose bytes may be gone")
    func olderCopy() async throws {
        try await withLFS { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try #expect(host.count("lfs_job") == 1)
            try await host.receive(ReceivedFile(file, status: "remote"))
            try #expect(host.file(file.id)?.status == .remote)
            try #expect(host.count("lfs_job") == 0)
            // Moving the bytes goes on by itself: no upload is left that could be waited for.
            try await yield(while: try !host.filesInTemporary().isEmpty)
            lfs.resume()
        }
    }

    @Test("ends no upload that has sent parts, and no note of what is wrong with an object", arguments: [0, 1, 2])
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
                // Of a file that is uploaded already, it is the row of a late page that fires the same trigger.
                try await host.receive(ReceivedFile(file, status: kind == 2 ? "local" : "remote"))
                try #expect(host.file(file.id)?.status == .remote)
                try #expect(host.count("lfs_job") == 1)
            }
        }
    }

    @Test("gets the updateID of this database, which ascends through received and own changes")
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
                // An echo writes nothing.
                let before = try host.file(received.id)
                try await host.receive(received)
                try #expect(host.file(received.id) == before)
            }
        }
    }
}

@Suite("Applying what came from a server", .timeLimit(.minutes(10)))
struct ApplyingTests {
    private struct Failure: Error {}

    private func isApplying(_ db: Database) throws -> Bool? {
        try Bool.fetchOne(db, sql: "SELECT isApplying FROM lfs_state")
    }

    /// Whether applying something that throws does.
    private func fails(_ db: Database) throws -> Bool {
        do {
            try StateTable.applying(db) { throw Failure() }
            return false
        } catch is Failure {
            return true
        }
    }

    @Test("lasts as long as its body, also one that throws, of which nothing stays")
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

    @Test("within applying goes on until the outer one ends")
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

    @Test("is not seen by other connections, and needs no transaction around it")
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

    @Test("that another program has committed ends when the database is opened")
    func committed() async throws {
        try await withHost { host in
            try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET isApplying = 1") }
            try await withManager(host, starts: false) { _ in
                try #expect(host.count("lfs_state WHERE isApplying = 0") == 1)
            }
        }
    }
}
