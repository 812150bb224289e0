import Foundation
import GRDB
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Older copies of a database", .timeLimit(.minutes(10)))
struct OlderCopyTests {
    @Test("A restored backup of an open database deletes no file that it does not know")
    func backupOfOpenDatabase() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            let backup = host.folder.appendingPathComponent("backup.sqlite").path
            try await withManager(host, options: options) { lfs in
                try host.database.backup(to: DatabaseQueue(path: backup))
                try await insert(host, lfs: lfs)
            }
            try DatabaseQueue(path: backup).backup(to: host.database)
            for round in 1...3 {
                try await withManager(host, options: options) { lfs in
                    // New files must not make the unknown file look like an old orphan.
                    try await insert(host, lfs: lfs)
                    try await lfs.waitForDeletions()
                }
                #expect(storage.keys.count == 1 + round)
                try #expect(host.filesInStore().count == 1 + round)
            }
            try await withManager(host, options: options) { lfs in
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

    @Test("A file that was never inserted is removed and does not suggest an older copy")
    func abandonedFile() async throws {
        try await withHost { host in
            var options = host.options
            options.temporaryFileGracePeriod = .zero
            try await withManager(host, options: options) { lfs in
                try await insert(host, lfs: lfs)
                _ = try await lfs.makeFile(from: .bytes(someBytes()))
            }
            try #expect(host.filesInTemporary().count == 1)
            try await withManager(host, options: options) { _ in }
            try #expect(host.filesInTemporary().isEmpty)
            try #expect(host.count("lfs_state WHERE sweepsFrom > 0") == 0)
        }
    }

    private func insert(_ host: TestHost, lfs: LFSManager) async throws {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await host.database.write { try file.insert($0) }
        try await lfs.waitForUploads()
    }
}
