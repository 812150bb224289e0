import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Quarantine", .timeLimit(.minutes(10)))
struct QuarantineTests {
    @Test("A file that was replaced after its examination is not quarantined")
    func replaced() async throws {
        try await withTemporaryFolder { folder in
            let store = try LocalStore(
                at: folder.appendingPathComponent("store").path, databaseID: FileID.make().uuidString)
            let id = FileID.make()
            let (file, other) = (URL(fileURLWithPath: store.path(of: id)), folder.appendingPathComponent("other"))
            try Data("damaged".utf8).write(to: file)
            let examined = try #require(try store.status(of: id))
            // The new file is created next to the old one, so that it cannot get the same inode.
            try Data("right".utf8).write(to: other)
            guard rename(other.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
            try #expect(store.quarantine(id, examined: examined) == nil)
            #expect(try Data(contentsOf: file) == Data("right".utf8))
            #expect(try store.quarantined().isEmpty)

            let now = try #require(try store.status(of: id))
            try #expect(store.quarantine(id, examined: now) != nil)
            #expect(try store.quarantined().map(\.id) == [id])
            try #expect(!store.contains(id))
        }
    }

    @Test("A failed download keeps the damaged bytes, and the next repair succeeds")
    func failingFetch() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            let damaged = someBytes()
            try checked.plant(damaged, at: checked.local(files[0].id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")

            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options: options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.failed("no reading today")])
                #expect(report.left == 1)
            }
            let kept = try FileManager.default.contentsOfDirectory(atPath: quarantine.path)
            #expect(kept.count == 1)
            for name in kept {
                #expect(try [UInt8](Data(contentsOf: quarantine.appendingPathComponent(name))) == damaged)
            }
            // The file is `remote` and its object is right, so a reader gets the right bytes.
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(read(files[0], lfs: lfs) == bytes)
                let (told, toldFindings) = try await checked.verify(lfs)
                #expect(toldFindings.map(Told.init) == [Told(.quarantined, id: files[0].id, repair: .discard)])
                #expect(told.isClean && told.known == 1)
                #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path) == kept)
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(report.isClean && report.known == 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
            }
        }
    }

    @Test("Damaged bytes stay in quarantine while their replacement is missing or wrong")
    func notMended() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[0]))
            try checked.plant(someBytes(), at: checked.local(files[0].id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
                for bytes in [nil, someBytes()] {
                    try checked.plant(bytes, at: checked.local(files[0].id))
                    let (_, findings) = try await checked.verify(lfs, repairs: true)
                    #expect(findings.contains { $0.kind == .quarantined && $0.repair == nil && $0.outcome == .found })
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path).count == 2)
            // An unreadable file is a finding and does not end the verification.
            try checked.plant(nil, at: checked.local(files[0].id))
            try FileManager.default.createSymbolicLink(at: checked.local(files[0].id), withDestinationURL: quarantine)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                for repairs in [false, true] {
                    let (_, findings) = try await checked.verify(lfs, repairs: repairs)
                    #expect(findings.contains { $0.kind == .corruptedLocally }, "\(findings)")
                }
            }
        }
    }

    @Test(
        "Quarantined bytes that turn out to be right are put back",
        arguments: [false, true])
    func putBack(isTaken: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.pending(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            try checked.plant(someBytes(), at: checked.local(file.id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, lost) = try await checked.verify(lfs, repairs: true)
                #expect(lost.map(\.outcome) == [.noted])
                let name = try #require(FileManager.default.contentsOfDirectory(atPath: quarantine.path).first)
                // The disk now returns the right bytes.
                try Data(bytes).write(to: quarantine.appendingPathComponent(name))
                if isTaken { try checked.plant(someBytes(), at: checked.local(file.id)) }

                let (told, toldFindings) = try await checked.verify(lfs)
                #expect(
                    toldFindings.contains {
                        Told($0) == Told(.quarantined, id: file.id, repair: .putBack) && !$0.isKnown
                    })
                #expect(told.left > 0)
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(
                    findings.map(Told.init) == [
                        Told(.quarantined, id: file.id, repair: .putBack),
                        Told(.uploadStuck, id: file.id, repair: .upload),
                    ])
                #expect(findings.map(\.outcome) == [.repaired, .underWay] && report.left == 0)
                try lfs.start()
                try await lfs.waitForUploads()
                try await #expect(read(file, lfs: lfs) == bytes)
                // The next repair deletes the bytes that were in their place.
                _ = try await checked.verify(lfs, repairs: true)
                try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    @Test("A verification without repairs hides no loss, and a repair uses originals")
    func lookFirst() async throws {
        try await withCheckedHost { checked in
            for what in ["missing", "of another length", "of other bytes"] {
                let file = try await checked.uploaded(1)[0]
                let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
                try checked.plant(someBytes(), at: checked.local(file.id))
                let planted: [String: [UInt8]] = ["of another length": someBytes(7), "of other bytes": someBytes()]
                try checked.plant(planted[what], at: checked.object(file))
                try await withManager(checked.host, options: checked.options) { lfs in
                    let (_, told) = try await checked.verify(lfs) { $0.acceptsEmpty = true }
                    #expect(told.contains { $0.isLoss && $0.fileID == file.id }, "\(what): \(told)")
                    #expect(try await lfs.status().failed == 1, "\(what)")
                    let (report, findings) = try await checked.verify(lfs, repairs: true) { options in
                        options.acceptsEmpty = true
                        options.originals = { $0 == file.id ? [.bytes(Data(bytes))] : [] }
                    }
                    #expect(
                        findings.contains { $0.repair == .restore && $0.outcome == .underWay }, "\(what): \(findings)")
                    #expect(report.lostBytes == 0)
                    try await lfs.waitForUploads()
                    #expect(try [UInt8](Data(contentsOf: checked.object(file))) == bytes)
                    _ = try await checked.verify(lfs, repairs: true)
                    try await #expect(checked.verify(lfs).findings.isEmpty, "\(what)")
                }
            }
        }
    }

    @Test("An object that was missing and is back is right by its checksum")
    func objectBack() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            try checked.plant(nil, at: checked.local(files[0].id))
            try checked.plant(nil, at: checked.object(files[0]))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                for _ in 1...2 {
                    let (report, findings) = try await checked.verify(lfs)
                    #expect(
                        findings.map(Told.init) == [Told(.missingRemotely, id: files[0].id, repair: nil)]
                            && report.left == 1)
                }
                #expect(try await lfs.status().failed == 1)
                try checked.plant(bytes, at: checked.object(files[0]))
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(
                    findings.map(Told.init) == [Told(.uploadStuck, id: files[0].id, repair: .clear)] && report.isClean)
                #expect(try await lfs.status().failed == 0)
            }
        }
    }

    @Test("A file with extra bytes after the right ones is not right")
    func longer() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options: options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
            }
            try checked.plant(bytes + [0], at: checked.local(file.id))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs)
                #expect(
                    Set(findings.map(Told.init)) == [
                        Told(.quarantined, id: file.id, repair: nil),
                        Told(.wrongLengthLocally, id: file.id, repair: .fetch),
                    ])
            }
        }
    }

    @Test("Bytes that are quarantined during a check of the store stay in quarantine")
    func meanwhile() async throws {
        try await withTemporaryFolder { folder in
            let store = try LocalStore(
                at: folder.appendingPathComponent("store").path, databaseID: FileID.make().uuidString)
            let (id, other) = (FileID.make(), FileID.make())
            func put(_ text: String, id: FileID) throws -> FileStatus {
                try Data(text.utf8).write(to: URL(fileURLWithPath: store.path(of: id)))
                return try #require(try store.status(of: id))
            }
            for id in [id, other] { try #expect(store.quarantine(id, examined: put("damaged", id: id)) != nil) }
            let late = try store.removeQuarantined(id) {
                try #expect(store.quarantine(id, examined: put("right", id: id)) != nil)
                return true
            }
            #expect(late)
            #expect(Set(try store.quarantined().map(\.id)) == [id, other])
            try #expect(!store.removeQuarantined(id) { false })
            #expect(try store.quarantined().count == 2)
            try #expect(store.removeQuarantined(id) { true })
            #expect(try store.quarantined().map(\.id) == [other])
        }
    }

    @Test("Unknown quarantined bytes are kept unless unknown files may be removed")
    func olderCopy() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[1]))
            try checked.plant(someBytes(), at: checked.local(files[1].id))
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
            }
            try await checked.host.database.write { db in
                try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [files[1].id])
                try db.execute(sql: "DELETE FROM lfs_tombstone; UPDATE lfs_state SET generation = 0")
            }
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(Told.init) == [Told(.quarantined, id: files[1].id, repair: nil)])
                #expect(report.left == 1)
                try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).count == 1)
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                // The bytes were quarantined just now and are within the grace period.
                let (_, young) = try await checked.verify(lfs, repairs: true) { $0.localGracePeriod = .seconds(3_600) }
                #expect(young.isEmpty)
                let (report, _) = try await checked.verify(lfs, repairs: true) { $0.removesUnknown = true }
                #expect(report.isClean)
                try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
            }
        }
    }
}

/// A storage whose objects cannot be downloaded.
struct UnreadableStorage: StorageWrapper {
    let base: any RemoteStorage
    init(_ base: any RemoteStorage) { self.base = base }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        throw StorageError(.forbidden, message: "no reading today", key: request.key)
    }
}
