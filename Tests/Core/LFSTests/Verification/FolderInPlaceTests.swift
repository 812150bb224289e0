import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Folders in place of files", .timeLimit(.minutes(10)))
struct FolderInPlaceTests {
    /// Returns an uploaded file in whose place a folder with content was put.
    private func replaced(_ checked: CheckedHost) async throws -> FileData {
        let file = try await checked.uploaded(2)[0]
        try checked.plant(nil, at: checked.local(file.id))
        try checked.plant([1, 2, 3], at: checked.local(file.id).appendingPathComponent("foreign"))
        return file
    }

    /// Returns the number of files of that folder. The folder is not ours, so its content must never be deleted.
    private func foreignFiles(_ checked: CheckedHost) throws -> Int {
        try FileManager.default.subpathsOfDirectory(atPath: checked.host.store.path).count { $0.hasSuffix("/foreign") }
    }

    @Test("A folder in place of a local copy does not prevent its repair")
    func repair() async throws {
        try await withCheckedHost { checked in
            let file = try await replaced(checked)
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try await withManager(checked.host, options: checked.options) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(report.isClean)
                try await #expect(read(file, lfs: lfs) == bytes)
                try #expect(foreignFiles(checked) == 1)
            }
        }
    }

    @Test("A folder in place of a local copy does not prevent its deletion and is kept")
    func deletion() async throws {
        try await withCheckedHost { checked in
            let file = try await replaced(checked)
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await #expect(lfs.waitForDeletions() == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                #expect(!FileManager.default.fileExists(atPath: checked.local(file.id).path))
                try #expect(foreignFiles(checked) == 1)
                // Only a person can decide whether the folder may be deleted.
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.kind) == [.quarantined])
                #expect(findings.map(\.repair) == [nil])
                #expect(report.left == 1)
            }
        }
    }

    @Test("A folder in place of a staged file does not prevent its deletion")
    func staged() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let folder = checked.host.temporary.appendingPathComponent(file.id.uuidString)
            try checked.plant([1], at: folder.appendingPathComponent("foreign"))
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await #expect(lfs.waitForDeletions() == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                try #expect(foreignFiles(checked) == 1)
            }
        }
    }

    @Test(
        "A local copy that cannot be removed does not block deleting the object",
        .enabled(if: FolderInPlaceTests.canMakeImmutable, "needs root and chattr"))
    func stubbornBytes() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let local = checked.local(file.id).path
            let isImmutable = try runTool("chattr", arguments: ["+i", local])
            try #require(isImmutable)
            defer { #expect(throws: Never.self) { try runTool("chattr", arguments: ["-i", local]) } }
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await yield(while: checked.host.count("lfs_tombstone WHERE attempts > 0") == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                try #expect(checked.host.filesInStore() == [file.id])
                try runTool("chattr", arguments: ["-i", local])
                try await yield(while: checked.host.count("lfs_tombstone") > 0)
                try #expect(checked.host.filesInStore().isEmpty)
            }
        }
    }

    private static let canMakeImmutable: Bool = {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-test-\(UUID().uuidString)")
        do {
            try Data().write(to: file)
            let isPossible = try Machine.has("chattr") && runTool("chattr", arguments: ["+i", file.path])
            if isPossible { try runTool("chattr", arguments: ["-i", file.path]) }
            try FileManager.default.removeItem(at: file)
            return isPossible
        } catch {
            print("chattr does not run: \(error)")
            return false
        }
    }()
}
