import Foundation
import GRDB
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("A copy of the database that does not know all of its files", .timeLimit(.minutes(10)))
struct OlderCopyTests {
    @Test("A backup that was made while the manager was open sweeps nothing that it cannot know, at once or later")
    func backupOfOpenDatabase() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            let backup = host.folder.appendingPathComponent("backup.sqlite").path
            try await withManager(host, options) { lfs in
                try host.database.backup(to: DatabaseQueue(path: backup))
                try await insert(host, lfs)
            }
            try DatabaseQueue(path: backup).backup(to: host.database)
            for round in 1...3 {
                try await withManager(host, options) { lfs in
                    // What is made now must not make the unknown one look like a leftover of old.
                    try await insert(host, lfs)
                    try await lfs.waitForDeletions()
                }
                #expect(storage.keys.count == 1 + round)
                try #expect(host.filesInStore().count == 1 + round)
            }
            try await withManager(host, options) { lfs in
                var verifying = VerifyOptions()
                verifying.localGracePeriod = .zero
                verifying.remoteGracePeriod = .zero
                verifying.repairs = true
                let log = EventLog<VerifyFinding>()
                let report = try await lfs.verify(verifying) { log.add($0) }
                #expect(Set(log.events.map(\.kind)) == [.orphanedLocally, .orphanedRemotely])
                #expect(log.events.allSatisfy { $0.repair == nil })
                #expect(report.left == 2)
            }
            #expect(storage.keys.count == 4)
        }
    }

    @Test("A file that was made and not inserted is no sign of an older copy, and is swept")
    func abandonedFile() async throws {
        try await withHost { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options) { lfs in
                try await insert(host, lfs)
                _ = try await lfs.makeFile(from: .bytes(someBytes()))
            }
            try #expect(host.filesInTemporary().count == 1)
            try await withManager(host, options) { _ in }
            try #expect(host.filesInTemporary().isEmpty)
            try #expect(host.count("lfs_state WHERE sweepsFrom > 0") == 0)
        }
    }

    private func insert(_ host: TestHost, _ lfs: LFSManager) async throws {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await host.database.write { try file.insert($0) }
        try await lfs.waitForUploads()
    }
}
