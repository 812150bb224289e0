import Foundation
import GRDB
import LFSStorage
import LFSTesting
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

@Suite("Deleting files with waiting uploads", .timeLimit(.minutes(10)))
struct WaitingUploadTests {
    @Test("The queue names an uploaded file whose row was deleted during the upload")
    func discarded() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let kept = try await lfs.makeFile(from: .bytes(someBytes()))
                let deleted = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { db in
                    try kept.insert(db)
                    try deleted.insert(db)
                }
                var outcomes: [TransferOutcome] = []
                for job in try await lfs.journal.page(.small, limit: 10, excluding: []).jobs {
                    guard case .upload(let source) = try await lfs.journal.check(job) else {
                        Issue.record("The upload of \(job.id) is not needed.")
                        continue
                    }
                    let object = try await host.storage.upload(source, to: job.key, session: UploadSession())
                    outcomes.append(TransferOutcome(job: job, result: .uploaded(object)))
                }
                #expect(outcomes.count == 2)
                try await host.delete(deleted.id)
                #expect(try await lfs.journal.record(outcomes) == [deleted.id])
                #expect(try host.file(kept.id)?.status == .remote)
            }
        }
    }

    enum Reason: CaseIterable { case paused, away }

    @Test("A deletion does not wait for a paused or failing upload", arguments: Reason.allCases)
    func deletion(reason: Reason) async throws {
        let storage = ScriptedStorage(beforeUpload: { _, _ in
            if reason == .away { throw StorageError(.unreachable, message: "No network.") }
        })
        let patient = Backoff(base: .seconds(60), cap: .seconds(60))
        try await withLFS(storage: storage, configure: { $0.backoff = patient }) { host, lfs in
            if reason == .paused { lfs.pause() }
            var files: [FileData] = []
            for _ in 0..<3 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
            let made = files
            try await host.database.write { db in for file in made { try file.insert(db) } }
            try await yield(while: lfs.pool.isIdle || host.filesInStore().count < 3)
            try await host.database.write { db in _ = try FileData.deleteAll(db) }
            // The deletion itself calls a storage that is unreachable, because no upload is left to probe it.
            try await yield(while: lfs.pool.heldCount > 0)
            lfs.resume()
            try await yield(while: host.count("lfs_tombstone") > 0)
            #expect(try host.filesInStore().isEmpty)
            #expect(storage.memory.keys.isEmpty)
            try await yield(while: !lfs.pool.isIdle)
        }
    }

    @Test("A deletion does not wait for a hundred deleted files with lent uploads")
    func lent() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await withManager(host) { lfs in
                lfs.pause()
                var made: [FileData] = []
                for _ in 0..<100 { made.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
                let lent = made
                try await host.database.write { db in for file in lent { try file.insert(db) } }
                let loans = try await lfs.loans.lend(upTo: lent.count, for: .seconds(3_600), excluding: [])
                #expect(loans.count == lent.count)
                try await host.database.write { db in for file in lent { try file.delete(db) } }
                lfs.resume()
                // Its id follows those of the lent files, and so does its deletion.
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await yield(while: host.file(file.id)?.status != .remote)
                #expect(storage.keys.count == 1)
                try await host.database.write { db in _ = try file.delete(db) }
                try await yield(while: host.count("lfs_tombstone") > lent.count)
                #expect(storage.keys.isEmpty)
                try #expect(host.count("lfs_loan") == lent.count)
            }
        }
    }
}
