import Foundation
import GRDB
import LFS
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Damaged bytes", .timeLimit(.minutes(10)))
struct QuarantineTests {
    @Test("A file that was replaced since it was examined stays in its place")
    func replaced() async throws {
        try await withTemporaryFolder { folder in
            let store = try LocalStore(
                at: folder.appendingPathComponent("store").path, databaseID: FileID.make().uuidString)
            let id = FileID.make()
            let (file, other) = (URL(fileURLWithPath: store.path(of: id)), folder.appendingPathComponent("other"))
            try Data("damaged".utf8).write(to: file)
            let examined = try #require(try store.status(of: id))
            // Beside it, so that the new one cannot get the number of the old one.
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

    @Test("When the right bytes cannot be fetched, the damaged ones are kept, and the next repair gets them")
    func failingFetch() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            let damaged = someBytes()
            try checked.plant(damaged, at: checked.local(files[0].id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")

            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options, starts: false) { lfs in
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
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                try await #expect(read(files[0], lfs) == bytes)
                let (told, toldFindings) = try await checked.verify(lfs)
                #expect(toldFindings.map(Told.init) == [Told(.quarantined, files[0].id, .discard)])
                #expect(told.isClean && told.known == 1)
                #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path) == kept)
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(report.isClean && report.known == 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
            }
        }
    }

    @Test("Damaged bytes stay in quarantine while the ones in their place are others, or none")
    func notMended() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[0]))
            try checked.plant(someBytes(), at: checked.local(files[0].id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
                for bytes in [nil, someBytes()] {
                    try checked.plant(bytes, at: checked.local(files[0].id))
                    let (_, findings) = try await checked.verify(lfs, repairs: true)
                    #expect(findings.contains { $0.kind == .quarantined && $0.repair == nil && $0.outcome == .found })
                }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: quarantine.path).count == 2)
            // What cannot be read is a finding of its own, and not the end.
            try checked.plant(nil, at: checked.local(files[0].id))
            try FileManager.default.createSymbolicLink(at: checked.local(files[0].id), withDestinationURL: quarantine)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                for repairs in [false, true] {
                    let (_, findings) = try await checked.verify(lfs, repairs: repairs)
                    #expect(findings.contains { $0.kind == .corruptedLocally }, "\(findings)")
                }
            }
        }
    }

    @Test(
        "Bytes in quarantine that turn out to be right come back, whatever stands in their place",
        arguments: [false, true])
    func putBack(isTaken: Bool) async throws {
        try await withCheckedHost { checked in
            let file = try await checked.pending(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.local(file.id)))
            try checked.plant(someBytes(), at: checked.local(file.id))
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                let (_, lost) = try await checked.verify(lfs, repairs: true)
                #expect(lost.map(\.outcome) == [.noted])
                let name = try #require(FileManager.default.contentsOfDirectory(atPath: quarantine.path).first)
                // The disk gives the right bytes after all.
                try Data(bytes).write(to: quarantine.appendingPathComponent(name))
                if isTaken { try checked.plant(someBytes(), at: checked.local(file.id)) }

                let (told, toldFindings) = try await checked.verify(lfs)
                #expect(toldFindings.contains { Told($0) == Told(.quarantined, file.id, .putBack) && !$0.isKnown })
                #expect(told.left > 0)
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(
                    findings.map(Told.init) == [
                        Told(.quarantined, file.id, .putBack), Told(.uploadStuck, file.id, .upload),
                    ])
                #expect(findings.map(\.outcome) == [.repaired, .underWay] && report.left == 0)
                try lfs.start()
                try await lfs.waitForUploads()
                try await #expect(read(file, lfs) == bytes)
                // What stood in its place goes with the next repair.
                _ = try await checked.verify(lfs, repairs: true)
                try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).isEmpty)
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
        }
    }

    @Test("A look before a repair hides no loss, and originals are asked for it")
    func lookFirst() async throws {
        try await withCheckedHost { checked in
            for what in ["missing", "of another length", "of other bytes"] {
                let file = try await checked.uploaded(1)[0]
                let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
                try checked.plant(someBytes(), at: checked.local(file.id))
                let planted: [String: [UInt8]] = ["of another length": someBytes(7), "of other bytes": someBytes()]
                try checked.plant(planted[what], at: checked.object(file))
                try await withManager(checked.host, checked.options) { lfs in
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

    @Test("An object that the storage had not, and has again, is right by its own word")
    func objectBack() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let bytes = try [UInt8](Data(contentsOf: checked.object(files[0])))
            try checked.plant(nil, at: checked.local(files[0].id))
            try checked.plant(nil, at: checked.object(files[0]))
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                for _ in 1...2 {
                    let (report, findings) = try await checked.verify(lfs)
                    #expect(findings.map(Told.init) == [Told(.missingRemotely, files[0].id, nil)] && report.left == 1)
                }
                #expect(try await lfs.status().failed == 1)
                try checked.plant(bytes, at: checked.object(files[0]))
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(Told.init) == [Told(.uploadStuck, files[0].id, .clear)] && report.isClean)
                #expect(try await lfs.status().failed == 0)
            }
        }
    }

    @Test("Bytes behind the right ones are not the right ones")
    func longer() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try checked.plant(someBytes(), at: checked.local(file.id))
            var options = checked.options
            options.storage = UnreadableStorage(checked.storage)
            try await withManager(checked.host, options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
            }
            try checked.plant(bytes + [0], at: checked.local(file.id))
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs)
                #expect(
                    Set(findings.map(Told.init)) == [
                        Told(.quarantined, file.id, nil), Told(.wrongLengthLocally, file.id, .fetch),
                    ])
            }
        }
    }

    @Test("What comes into quarantine while the bytes in the store are looked at stays there")
    func meanwhile() async throws {
        try await withTemporaryFolder { folder in
            let store = try LocalStore(
                at: folder.appendingPathComponent("store").path, databaseID: FileID.make().uuidString)
            let (id, other) = (FileID.make(), FileID.make())
            func put(_ text: String, _ id: FileID) throws -> FileStatus {
                try Data(text.utf8).write(to: URL(fileURLWithPath: store.path(of: id)))
                return try #require(try store.status(of: id))
            }
            for id in [id, other] { try #expect(store.quarantine(id, examined: put("damaged", id)) != nil) }
            let late = try store.removeQuarantined(id) {
                try #expect(store.quarantine(id, examined: put("right", id)) != nil)
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

    @Test("What no row knows stays in quarantine unless it is said to be nobody's")
    func olderCopy() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[1]))
            try checked.plant(someBytes(), at: checked.local(files[1].id))
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                _ = try await checked.verify(lfs, repairs: true)
            }
            try await checked.host.database.write { db in
                try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [files[1].id])
                try db.execute(sql: "DELETE FROM lfs_tombstone; UPDATE lfs_state SET generation = 0")
            }
            let quarantine = checked.host.store.appendingPathComponent("quarantine")
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(Told.init) == [Told(.quarantined, files[1].id, nil)])
                #expect(report.left == 1)
                try #expect(FileManager.default.contentsOfDirectory(atPath: quarantine.path).count == 1)
            }
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                // A day is the default, and it was made just now.
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
        throw StorageError(.forbidden, "no reading today", key: request.key)
    }
}
