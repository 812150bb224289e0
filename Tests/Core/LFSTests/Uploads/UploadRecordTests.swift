import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Upload records", .timeLimit(.minutes(10)))
struct UploadRecordTests {
    private struct PhotoInfo: FetchableRecord, Decodable, Equatable {
        var file: FileData
        var upload: Upload?

        static func fetchAll(_ db: Database) throws -> [PhotoInfo] {
            let request = FileData.including(optional: FileData.upload).order(FileData.Columns.id)
            return try PhotoInfo.fetchAll(db, request.asRequest(of: PhotoInfo.self))
        }
    }

    @Test("An upload record joins to its file, shows its state and disappears when uploaded")
    func joins() async throws {
        try await withLFS { host, lfs in
            lfs.pause()
            var files: [FileData] = []
            for _ in 0..<3 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
            try await host.database.write { [files] db in for file in files { try file.insert(db) } }
            let queued = try await host.database.read(PhotoInfo.fetchAll)
            #expect(queued.map(\.upload?.state) == [.queued, .queued, .queued])
            #expect(queued.allSatisfy { $0.upload?.nextAttempt != nil && $0.upload?.code == nil })
            #expect(queued.map(\.upload?.byteCount) == [1_000, 1_000, 1_000])
            try await lfs.cancel(files[0].id)
            let cancelled = try await host.database.read { try Upload.all().cancelled().fetchAll($0) }
            #expect(cancelled.map(\.fileID) == [files[0].id])
            #expect(cancelled.first?.nextAttempt == nil)
            try await lfs.retry()
            lfs.resume()
            try await lfs.waitForUploads()
            #expect(try await host.database.read(PhotoInfo.fetchAll).map(\.upload) == [nil, nil, nil])
        }
    }

    @Test("An upload record can be observed")
    func isObserved() async throws {
        let gate = GatedStorage(InMemoryStorage())
        try await withLFS(storage: gate) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            let uploads = ValueObservation.tracking { db in try Upload.fetchOne(db, key: file.id)?.state }
                .removeDuplicates().values(in: host.database)
            try await host.database.write { try file.insert($0) }
            var states: [Upload.State?] = []
            for try await state in uploads {
                states.append(state)
                if state == .queued { gate.open() }
                if states.count > 1, state == nil { break }
            }
            #expect(states.suffix(2) == [.queued, nil])
        }
    }

    @Test("Damage that is noted during an upload makes the next upload replace the object")
    func damagedMeanwhile() async throws {
        let replaces = Heard<Bool>()
        let gate = Gate()
        let storage = AbandonedUploads { session in
            replaces.add(session.replacesObject)
            if replaces.values.count == 2 { try await gate.pass() }
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            try await host.database.write { try JobTable.noteMissing(of: file.id, "It is missing.", now: 0, $0) }
            #expect(try await lfs.retry() == 1)
            await gate.reached.wait()
            try await host.database.write { try JobTable.noteDamage(of: file.id, "Other bytes.", now: 0, $0) }
            gate.opened.open()
            try await lfs.waitForUploads()
            #expect(replaces.values == [false, false, true])
            #expect(try host.file(file.id)?.proof == .checksum)
        }
    }

    @Test("Every failed upload has a record, but a summary lists at most 1,000 failures")
    func allOfThem() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let sources = Array(repeating: FileSource.bytes([1]), count: 1_005)
                let files = try await lfs.withFiles(from: sources) { files in
                    try await host.database.write { db in for file in files { try file.insert(db) } }
                    return files
                }
                try await host.database.write { db in
                    try db.execute(
                        sql: "UPDATE lfs_job SET state = 'failed', errorCode = 'forbidden', errorMessage = 'No.'")
                }
                let failed = try await host.database.read { try Upload.all().failed().fetchAll($0) }
                #expect(Set(failed.map(\.id)) == Set(files.map(\.id)))
                #expect(failed.allSatisfy { $0.code == .forbidden && $0.reason == "No." })
                let summary = try await lfs.waitForUploads()
                #expect(summary.failed == 1_005 && summary.failures.count == 1_000)
            }
        }
    }

    @Test("An invalid upload row fails with `invalidRow` and does not crash")
    func oddRow() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes([1]))
                try await host.database.write { db in
                    try file.insert(db)
                    try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
                    try db.execute(sql: "UPDATE lfs_job SET state = 'lunch'")
                    try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
                }
                let code = await errorCode { _ = try await host.database.read { try Upload.fetchAll($0) } }
                #expect(code == .invalidRow)
                try await host.database.write { try $0.execute(sql: "DELETE FROM lfs_job") }
            }
        }
    }
}
