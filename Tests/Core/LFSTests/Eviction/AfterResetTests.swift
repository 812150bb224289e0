import Foundation
import GRDB
import LFSStorage
import TestSupport
import Testing

@testable import LFS

@Suite("Objects after a reset", .timeLimit(.minutes(10)))
struct AfterResetTests {
    @Test("A repairing verification reports the objects from before a reset and keeps them")
    func objectsStay() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            let files = try await keptFiles(3, host: host, lfs: lfs)
            try await lfs.reset(.everythingIsUploaded)
            try await withManager(host) { next in
                // A restored file is also from before the reset.
                try Data(someBytes()).write(to: host.store.appendingPathComponent(files[0].id.uuidString))
                var options = VerifyOptions()
                options.localGracePeriod = .zero
                options.remoteGracePeriod = .zero
                options.repairs = true
                let log = EventLog<VerifyFinding>()
                let report = try await next.verify(options) { log.add($0) }
                let told = log.events.filter { $0.kind == .orphanedRemotely }
                #expect(Set(told.map(\.fileID)) == Set(files.map(\.id)))
                #expect(told.allSatisfy { $0.isLeft })
                #expect(report.left == 4, "three objects and one local file")
                try await next.waitForDeletions()
            }
            #expect(storage.keys.count == 3)
        }
    }

    @Test("A reset keeps the deletions of unfinished uploads, unless they are dropped", arguments: [true, false])
    func openUploads(_ keeps: Bool) async throws {
        let storage = AbandonedUploads()
        try await withHost(storage: storage) { host in
            let first = try await LFSManager.open(host.database, options: host.options)
            let file = try await first.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in
                try file.insert(db)
                try db.execute(sql: "UPDATE lfs_job SET checkpoint = x'0102'")
            }
            var confirmation = ResetConfirmation.loseFilesThatAreNotUploaded(1)
            if !keeps { confirmation.pendingDeletions = .drop }
            try await first.reset(confirmation)
            try #expect(host.filesInStore().union(host.filesInTemporary()).isEmpty)
            try await withManager(host) { next in try await next.waitForDeletions() }
            #expect(storage.abandoned == (keeps ? [file.key: Data([1, 2])] : [:]))
            try #expect(host.count("lfs_tombstone") == 0)
        }
    }

    @Test("A reset keeps objects that another copy of the database may have uploaded")
    func objectOfAnotherCopy() async throws {
        let storage = AbandonedUploads()
        try await withHost(storage: storage) { host in
            let first = try await LFSManager.open(host.database, options: host.options)
            let file = try await first.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            // Opening does this when it notices that a backup was restored.
            try await Orphans(runner: first.runner).doubtAllUntilNow(Date().addingTimeInterval(1))
            try await first.reset(.loseFilesThatAreNotUploaded(1))
            try await withManager(host) { next in try await next.waitForDeletions() }
            #expect(storage.abandoned == [:])
        }
    }
}
