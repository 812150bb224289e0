import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Verification with a wrong store or storage", .timeLimit(.minutes(10)))
struct WrongPlaceTests {
    enum Swap { case emptyFolder, symlink, otherDatabase, removed, lostMarker, mount }

    @Test(
        "A replaced store ends the verification before it reports or repairs anything",
        arguments: [Swap.emptyFolder, .symlink, .otherDatabase, .removed, .lostMarker])
    func swappedStore(swap: Swap) async throws {
        try await verifyAfter(swap)
    }

    @Test(
        "A file system mounted over the store ends the verification before any repair",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func mountedStore() async throws {
        try await verifyAfter(.mount)
    }

    private func verifyAfter(_ swap: Swap) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.pending(2)
            let other = checked.host.folder.appendingPathComponent("aside")
            var unmount: String?
            defer {
                if let unmount { #expect(throws: Never.self) { try runTool("umount", arguments: ["-l", unmount]) } }
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs).findings.isEmpty)
                let manager = FileManager.default
                switch swap {
                case .emptyFolder:
                    try manager.moveItem(at: checked.host.store, to: other)
                    try manager.createDirectory(at: checked.host.store, withIntermediateDirectories: false)
                case .symlink:
                    try manager.moveItem(at: checked.host.store, to: other)
                    try manager.createSymbolicLink(at: checked.host.store, withDestinationURL: checked.remote)
                case .otherDatabase:
                    try await withHost { stranger in
                        try await withManager(stranger, starts: false) { _ in }
                        try manager.moveItem(at: checked.host.store, to: other)
                        try manager.moveItem(at: stranger.store, to: checked.host.store)
                    }
                case .removed: try manager.moveItem(at: checked.host.store, to: other)
                case .lostMarker:
                    try manager.removeItem(at: checked.host.store.appendingPathComponent("lfs.json"))
                case .mount:
                    let store = checked.host.store.path
                    let isMounted = try runTool(
                        "mount", arguments: ["-t", "tmpfs", "-o", "size=64k", "lfs-test", store])
                    try #require(isMounted)
                    unmount = checked.host.store.path
                }
                let log = EventLog<VerifyFinding>()
                var options = VerifyOptions()
                options.repairs = true
                options.acceptsEmpty = true
                let verifying = options
                let code = await errorCode { try await lfs.verify(verifying) { log.add($0) } }
                #expect(code == .wrongStore)
                #expect(log.events.isEmpty)
            }
            try #expect(checked.host.count("lfs_tombstone") == 0)
            try #expect(checked.host.count("lfs_job WHERE state = 'queued'") == files.count)
        }
    }

    @Test("Replacing the store during a verification ends the verification")
    func swappedDuringRun() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            for file in files { try checked.plant(someBytes(3), at: checked.local(file.id)) }
            let aside = checked.host.folder.appendingPathComponent("aside")
            // The verification checks several files at a time.
            let once = Once()
            checked.storage.beforeHead { _ in
                guard once.take() else { return }
                try FileManager.default.moveItem(at: checked.host.store, to: aside)
                try FileManager.default.createDirectory(at: checked.host.store, withIntermediateDirectories: false)
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let code = await errorCode { _ = try await checked.verify(lfs, repairs: true) }
                #expect(code == .wrongStore)
            }
            // The damaged files were neither moved nor replaced.
            #expect(try TestHost.files(in: aside) == Set(files.map(\.id)))
            #expect(!FileManager.default.fileExists(atPath: aside.appendingPathComponent("quarantine").path))
            try #expect(checked.host.filesInStore().isEmpty)
        }
    }

    @Test("A new empty store is not reported as a loss unless empty stores are accepted")
    func unmountedAtOpening() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.pending(2)
            let aside = checked.host.folder.appendingPathComponent("aside")
            try FileManager.default.moveItem(at: checked.host.store, to: aside)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let code = await errorCode { _ = try await checked.verify(lfs, repairs: true) }
                #expect(code == .wrongStore)
                let (_, findings) = try await checked.verify(lfs) { $0.acceptsEmpty = true }
                #expect(findings.map(\.kind) == [.missingLocally, .missingLocally])
            }
            try FileManager.default.removeItem(at: checked.host.store)
            try FileManager.default.moveItem(at: aside, to: checked.host.store)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
            try #expect(checked.host.filesInStore() == Set(files.map(\.id)))
        }
    }

    @Test("An empty storage is refused as wrong unless empty storages are accepted")
    func emptyStorage() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(3)
            for file in files { try checked.plant(nil, at: checked.object(file)) }
            let before = try checked.snapshot()
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let code = await errorCode { _ = try await checked.verify(lfs, repairs: true) }
                #expect(code == .wrongStorage)
                let after = try checked.snapshot()
                #expect(after == before)
                let (_, findings) = try await checked.verify(lfs) { $0.acceptsEmpty = true }
                #expect(Set(findings.map(\.fileID)) == Set(files.map(\.id)))
                #expect(findings.allSatisfy { $0.kind == .missingRemotely && $0.repair == .upload })
            }
        }
    }

    @Test("A storage folder that is replaced during use is unreachable, not empty")
    func replacedStorage() async throws {
        try await withCheckedHost { checked in
            _ = try await checked.uploaded(1)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let aside = checked.host.folder.appendingPathComponent("aside")
                try FileManager.default.moveItem(at: checked.remote, to: aside)
                try FileManager.default.createDirectory(at: checked.remote, withIntermediateDirectories: false)
                let code = await errorCode { _ = try await checked.verify(lfs, repairs: true) }
                #expect(code == .storage)
            }
        }
    }

    @Test("Bytes that may be in an unmounted location are not lost")
    func closedLocation() async throws {
        try await withCheckedHost { checked in
            let elsewhere = checked.host.folder.appendingPathComponent("elsewhere")
            var options = checked.options
            options.persistenceLocation = elsewhere
            let opening = options
            var file: FileData?
            try await withManager(checked.host, options: opening, starts: false) { lfs in
                let made = try await lfs.makeFile(from: .bytes(someBytes()))
                try await checked.host.database.write { try made.insert($0) }
                file = made
            }
            let aside = checked.host.folder.appendingPathComponent("aside")
            try FileManager.default.moveItem(at: elsewhere, to: aside)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (_, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.kind) == [.missingLocally])
                #expect(findings.allSatisfy { !$0.isLoss && $0.message.contains("mounted") })
                try FileManager.default.moveItem(at: aside, to: elsewhere)
                try await #expect(checked.verify(lfs).findings.isEmpty)
            }
            #expect(try checked.host.filesInStore() == [file?.id])
        }
    }

    @Test("Unknown files of an older database are reported and kept unless removal is on")
    func olderCopy() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await checked.host.database.write { db in
                // A backup from before this file was restored.
                try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [files[1].id])
                try db.execute(sql: "DELETE FROM lfs_tombstone; UPDATE lfs_state SET generation = 0")
            }
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true) { $0.remoteGracePeriod = .zero }
                let id = files[1].id
                let expected: Set = [
                    Told(.orphanedLocally, id: id, repair: nil), Told(.orphanedRemotely, id: id, repair: nil),
                ]
                #expect(Set(findings.map(Told.init)) == expected)
                #expect(findings.allSatisfy { $0.outcome == .found })
                #expect(report.left == 2 && report.lostBytes == 0)
                try #expect(checked.host.count("lfs_tombstone") == 0)
            }
            #expect(FileManager.default.fileExists(atPath: checked.object(files[1]).path))
            try await withManager(checked.host, options: checked.options) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true) {
                    $0.remoteGracePeriod = .zero
                    $0.removesUnknown = true
                }
                #expect(!findings.isEmpty && findings.allSatisfy { $0.repair == .remove })
                #expect(report.isClean)
                try await #expect(lfs.waitForDeletions() == 0)
            }
            #expect(!FileManager.default.fileExists(atPath: checked.object(files[1]).path))
            #expect(FileManager.default.fileExists(atPath: checked.object(files[0]).path))
            try #expect(checked.host.filesInStore() == [files[0].id])
        }
    }

    @Test("A database copy on another machine deletes no object of the first machine")
    func copyOnOtherMachine() async throws {
        try await withCheckedHost { checked in
            _ = try await checked.uploaded(2)
            let folder = checked.host.folder.appendingPathComponent("other machine")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let copy = try TestHost.open(folder.appendingPathComponent("recipes.sqlite").path)
            try checked.host.database.backup(to: copy)
            let other = TestHost(folder: folder, database: copy, storage: checked.storage)
            for round in 1...2 {
                let newer = try await checked.uploaded(1)[0]
                var options = checked.options
                // At the second opening, the objects of the first machine are younger than the copy.
                if round == 2 { options.wallClock = { Date().addingTimeInterval(8 * 86_400) } }
                try await withManager(other, options: options) { lfs in
                    try #expect(other.count("lfs_state WHERE sweepsFrom > 0") == 1)
                    let (report, findings) = try await checked.verify(lfs, repairs: true) {
                        if round == 1 { $0.remoteGracePeriod = .zero }
                    }
                    #expect(findings.count == round && report.left == round)
                    #expect(findings.allSatisfy { $0.kind == .orphanedRemotely && $0.repair == nil })
                    try await #expect(lfs.waitForDeletions() == 0)
                    #expect(FileManager.default.fileExists(atPath: checked.object(newer).path))
                }
            }
            try await withManager(other, options: checked.options) { lfs in
                let (report, _) = try await checked.verify(lfs, repairs: true) {
                    $0.remoteGracePeriod = .zero
                    $0.removesUnknown = true
                }
                #expect(report.isClean && report.repaired == 2)
                try await lfs.waitForDeletions()
                try await #expect(checked.verify(lfs).report.objects == 2)
            }
            try copy.close()
        }
    }
}
