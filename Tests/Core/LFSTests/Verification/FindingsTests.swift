import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import Testing

@Suite("Findings and repairs", .timeLimit(.minutes(10)))
struct FindingsTests {
    /// A store with all kinds of damage at once, and with undamaged files.
    private struct Damage {
        var expected: Set<Told> = []
        /// The files that must be right in the end, with their bytes.
        var mendable: [FileData: [UInt8]] = [:]
        var losses: Set<FileID> = []
        var quarantined: Set<FileID> = []
        /// Foreign files, which are neither local files nor objects of this database.
        var strangers: [URL] = []
    }

    private func damage(_ checked: CheckedHost) async throws -> Damage {
        let remote = try await checked.uploaded(9)
        let local = try await checked.pending(7)
        var damage = Damage()
        for file in remote + local {
            damage.mendable[file] = try [UInt8](Data(contentsOf: checked.local(file.id)))
        }
        func plant(_ kind: VerifyFinding.Kind, file: FileData, repair: VerifyFinding.Repair?) {
            damage.expected.insert(Told(kind, id: file.id, repair: repair))
        }

        // remote[0] and local[0] stay right. remote[1] has no local copy.
        try checked.plant(nil, at: checked.local(remote[1].id))
        try checked.plant(nil, at: checked.object(remote[2]))
        plant(.missingRemotely, file: remote[2], repair: .upload)
        try checked.plant(someBytes(999), at: checked.object(remote[3]))
        plant(.wrongLengthRemotely, file: remote[3], repair: .upload)
        try checked.plant(someBytes(), at: checked.object(remote[4]))
        plant(.corruptedRemotely, file: remote[4], repair: .upload)
        try checked.plant(someBytes(1_001), at: checked.local(remote[5].id))
        plant(.wrongLengthLocally, file: remote[5], repair: .fetch)
        try checked.plant(someBytes(), at: checked.local(remote[6].id))
        plant(.corruptedLocally, file: remote[6], repair: .fetch)
        try checked.plant(nil, at: checked.local(remote[7].id))
        try checked.plant(nil, at: checked.object(remote[7]))
        plant(.missingRemotely, file: remote[7], repair: nil)
        try checked.plant([], at: checked.local(remote[8].id))
        try checked.plant(nil, at: checked.object(remote[8]))
        plant(.wrongLengthLocally, file: remote[8], repair: .quarantine)
        plant(.missingRemotely, file: remote[8], repair: nil)

        try checked.plant(nil, at: checked.local(local[1].id))
        plant(.missingLocally, file: local[1], repair: nil)
        try checked.plant(damage.mendable[local[2]], at: checked.object(local[2]))
        try checked.plant(nil, at: checked.local(local[2].id))
        plant(.missingLocally, file: local[2], repair: .fetch)
        try checked.plant(someBytes(10), at: checked.local(local[3].id))
        plant(.wrongLengthLocally, file: local[3], repair: .quarantine)
        plant(.uploadStuck, file: local[4], repair: .upload)
        plant(.uploadStuck, file: local[5], repair: .upload)
        try checked.plant(someBytes(), at: checked.local(local[6].id))
        plant(.corruptedLocally, file: local[6], repair: .quarantine)
        for file in [remote[7], remote[8], local[1], local[3], local[6]] {
            damage.mendable[file] = nil
            damage.losses.insert(file.id)
        }
        damage.quarantined = [remote[8].id, local[3].id, local[6].id]

        let namespace = try checked.namespace()
        let long = Date(timeIntervalSinceNow: -30 * 86_400)
        let (orphan, old, young) = (FileID.make(at: long), FileID.make(at: long), FileID.make())
        try checked.plant(someBytes(), at: checked.local(orphan))
        damage.expected.insert(Told(.orphanedLocally, id: orphan, repair: .remove))
        try checked.plant(someBytes(), at: checked.remote.appendingPathComponent("\(namespace)/\(old)"))
        damage.expected.insert(Told(.orphanedRemotely, id: old, repair: .remove))
        // Not old enough, not of this database, and not files of LFS.
        damage.strangers = [
            checked.remote.appendingPathComponent("\(namespace)/\(young)"),
            checked.remote.appendingPathComponent("\(String(repeating: "a", count: 32))/\(old)"),
            checked.remote.appendingPathComponent("\(namespace)/notes.txt"),
            checked.host.store.appendingPathComponent("notes.txt"),
        ]
        for url in damage.strangers { try checked.plant(someBytes(), at: url) }

        let deleted = FileID.make(at: long)
        damage.expected.insert(Told(.deletionStuck, id: deleted, repair: .retry))
        try await checked.host.database.write { [local] db in
            try db.execute(sql: "DELETE FROM lfs_job WHERE fileID = ?", arguments: [local[4].id])
            try db.execute(
                sql: """
                    UPDATE lfs_job SET state = 'failed', errorCode = 'forbidden', errorMessage = 'no' WHERE fileID = ?
                    """,
                arguments: [local[5].id])
            try db.execute(
                sql: """
                    INSERT INTO lfs_tombstone (fileID, key, attempts, notBefore, errorMessage)
                    VALUES (?, ?, 1, ?, 'refused')
                    """,
                arguments: [deleted, "\(namespace)/\(deleted)", Int64(Date().timeIntervalSince1970 + 1_800) * 1_000])
        }
        return damage
    }

    @Test("A verification finds every damage and nothing else, and changes only notes")
    func findings() async throws {
        try await withCheckedHost { checked in
            let damage = try await damage(checked)
            let before = try checked.snapshot().filter { !$0.key.hasPrefix("lfs_job") }
            let jobs = try checked.host.database.read { try Row.fetchAll($0, sql: "SELECT * FROM lfs_job") }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs) { $0.removesUnknown = true }
                #expect(Set(findings.map(Told.init)) == damage.expected)
                #expect(findings.count == damage.expected.count)
                #expect(findings.allSatisfy { $0.outcome == .found && !$0.isKnown })
                #expect(report.left == findings.count)
                #expect(report.files == 16)
                #expect(report.lostBytes == 5_000)
                let all = Set(damage.expected.map(\.kind))
                #expect(all.count == 10)
            }
            let after = try checked.snapshot().filter { !$0.key.hasPrefix("lfs_job") }
            #expect(after == before)
            let later = try checked.host.database.read { try Row.fetchAll($0, sql: "SELECT * FROM lfs_job") }
            let noted = later.filter { !jobs.contains($0) }.map { $0["fileID"] as FileID? }
            let expected = damage.expected.filter {
                [.missingRemotely, .wrongLengthRemotely, .corruptedRemotely].contains($0.kind)
            }
            #expect(later.count == jobs.count + 5 && Set(noted) == Set(expected.map(\.id)))
        }
    }

    @Test("After a repair, a second verification reports only known losses")
    func repair() async throws {
        try await withCheckedHost { checked in
            let damage = try await damage(checked)
            let strangers = try damage.strangers.map { try Data(contentsOf: $0) }
            let (first, second) = try await (repaired(checked), repaired(checked))
            #expect(Set(first.findings.map(Told.init)) == damage.expected)
            #expect(Set(first.findings.filter(\.isLeft).compactMap(\.fileID)) == damage.losses)
            #expect(first.findings.filter(\.isLoss).allSatisfy { $0.outcome == .noted })

            #expect(second.report.isClean)
            let isExpected = second.findings.allSatisfy { $0.isKnown && !$0.isLeft }
            #expect(isExpected)
            #expect(Set(second.findings.filter(\.isLoss).map(\.fileID)) == damage.losses)
            #expect(Set(second.findings.filter { $0.kind == .quarantined }.map(\.fileID)) == damage.quarantined)

            try await withManager(checked.host, options: checked.options) { lfs in
                for (file, bytes) in damage.mendable {
                    let row = try #require(try checked.host.file(file.id))
                    #expect(row.status == .remote)
                    try await #expect(read(row, lfs: lfs) == bytes)
                    #expect(try [UInt8](Data(contentsOf: checked.object(file))) == bytes)
                }
            }
            for (url, bytes) in zip(damage.strangers, strangers) { #expect(try Data(contentsOf: url) == bytes) }
            try #expect(checked.host.count("lfs_tombstone") == 0)
        }
    }

    @Test("Deleting the row of a known loss clears the loss and its quarantined bytes")
    func deletingALoss() async throws {
        try await withCheckedHost { checked in
            _ = try await damage(checked)
            _ = try await repaired(checked)
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).count == 3)
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.database.write { db in
                    try db.execute(
                        sql: "DELETE FROM lfs_file WHERE id IN (SELECT fileID FROM lfs_job WHERE errorCode = 'lost')")
                }
                try await lfs.waitForDeletions()
            }
            let last = try await repaired(checked)
            #expect(last.findings.isEmpty)
            try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
        }
    }

    @Test("Bytes that are restored after a noted loss are uploaded")
    func lossThatIsNone() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.pending(2)
            let bytes = try [UInt8](Data(contentsOf: checked.local(files[0].id)))
            try checked.plant(nil, at: checked.local(files[0].id))
            _ = try await repaired(checked)
            try #expect(checked.host.count("lfs_job WHERE errorCode = 'lost'") == 1)
            try checked.plant(bytes, at: checked.local(files[0].id))
            let (report, findings) = try await repaired(checked)
            #expect(findings.map(Told.init) == [Told(.uploadStuck, id: files[0].id, repair: .upload)])
            #expect(report.isClean)
            #expect(try checked.host.file(files[0].id)?.status == .remote)
            try #expect(checked.host.count("lfs_job") == 0)
        }
    }

    @Test("A deletion scheduled too far in the future is reported with that reason")
    func deletionPutOff() async throws {
        try await withCheckedHost { checked in
            let (late, tried) = (FileID.make(), FileID.make())
            let namespace = try checked.namespace()
            let year = Int64(Date().timeIntervalSince1970 + 365 * 86_400) * 1_000
            try await checked.host.database.write { db in
                for (id, attempts, notBefore) in [(late, 1, year), (tried, 10, 0)] {
                    try db.execute(
                        sql: """
                            INSERT INTO lfs_tombstone (fileID, key, attempts, notBefore, errorMessage)
                            VALUES (?, ?, ?, ?, 'refused')
                            """, arguments: [id, "\(namespace)/\(id)", attempts, notBefore])
                }
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let findings = try await checked.verify(lfs).findings
                let messages = Dictionary(findings.map { ($0.fileID, $0.message) }) { first, _ in first }
                #expect(messages[late] == "Its deletion is scheduled too far in the future. Was the clock set back?")
                #expect(messages[tried] == "It cannot be deleted: refused")
            }
        }
    }

    @Test("Only objects of files are counted, and not copies of the database")
    func objectCount() async throws {
        try await withCheckedHost { checked in
            _ = try await checked.uploaded(2)
            let copy = "\(try checked.namespace())/lfs-recovery/writer/2026-01-01T00.sqlite.gz"
            try checked.plant(someBytes(), at: checked.remote.appendingPathComponent(copy))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs)
                #expect(report.objects == 2 && findings.isEmpty)
            }
        }
    }

    @Test("A retry of all uploads does not queue a known loss")
    func retry() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.pending(1)
            try checked.plant(nil, at: checked.local(files[0].id))
            _ = try await repaired(checked)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(lfs.retry() == 0)
                try await #expect(lfs.retry([files[0].id]) == 1)
            }
        }
    }

    @Test("Without the storage, no remote finding and no remote repair occurs")
    func withoutRemote() async throws {
        try await withCheckedHost { checked in
            let damage = try await damage(checked)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs) { $0.checksRemote = false }
                let kinds = Set(findings.map(\.kind))
                let local: Set<VerifyFinding.Kind> = [
                    .missingLocally, .wrongLengthLocally, .corruptedLocally, .orphanedLocally, .uploadStuck,
                    .deletionStuck,
                ]
                #expect(kinds == local)
                let localKinds = [VerifyFinding.Kind.missingLocally, .wrongLengthLocally, .corruptedLocally]
                let here = findings.filter { localKinds.contains($0.kind) }
                #expect(here.allSatisfy { $0.repair == nil && !$0.isLoss })
                let told = Set(damage.expected.map(\.id))
                #expect(findings.allSatisfy { told.contains($0.fileID) })
            }
            #expect(checked.storage.heads == 0)
        }
    }

    @Test("A listing in reverse order leads to the same findings")
    func otherOrder() async throws {
        try await withCheckedHost { checked in
            let damage = try await damage(checked)
            checked.storage.reverseLists()
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs) { $0.removesUnknown = true }
                #expect(Set(findings.map(Told.init)) == damage.expected)
                #expect(findings.count == damage.expected.count)
            }
        }
    }

    /// Returns the result of a verification with repairs, after all queued work is done.
    private func repaired(_ checked: CheckedHost) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        var result: (report: VerifyReport, findings: [VerifyFinding])?
        try await withManager(checked.host, options: checked.options) { lfs in
            result = try await checked.verify(lfs, repairs: true) { $0.removesUnknown = true }
            try await lfs.waitForUploads()
            try await lfs.waitForDeletions()
        }
        return try #require(result)
    }
}
