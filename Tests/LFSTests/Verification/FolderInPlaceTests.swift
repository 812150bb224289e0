import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("A folder in the place of a file", .timeLimit(.minutes(10)))
struct FolderInPlaceTests {
    /// A file that was uploaded and in whose place a folder stands that has something in it.
    private func replaced(_ checked: CheckedHost) async throws -> FileData {
        let file = try await checked.uploaded(2)[0]
        try checked.plant(nil, at: checked.local(file.id))
        try checked.plant([1, 2, 3], at: checked.local(file.id).appendingPathComponent("foreign"))
        return file
    }

    /// The folder is not ours, so what is in it must be somewhere for ever.
    private func foreignFiles(_ checked: CheckedHost) throws -> Int {
        try FileManager.default.subpathsOfDirectory(atPath: checked.host.store.path).count { $0.hasSuffix("/foreign") }
    }

    @Test("does not keep the file from being fetched again")
    func repair() async throws {
        try await withCheckedHost { checked in
            let file = try await replaced(checked)
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            try await withManager(checked.host, checked.options) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.outcome) == [.repaired])
                #expect(report.isClean)
                try await #expect(read(file, lfs) == bytes)
                try #expect(foreignFiles(checked) == 1)
            }
        }
    }

    @Test("does not keep the file from being deleted, and stays itself")
    func deletion() async throws {
        try await withCheckedHost { checked in
            let file = try await replaced(checked)
            try await withManager(checked.host, checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await #expect(lfs.waitForDeletions() == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                #expect(!FileManager.default.fileExists(atPath: checked.local(file.id).path))
                try #expect(foreignFiles(checked) == 1)
                // Nobody but a person can say whether it may go.
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.kind) == [.quarantined])
                #expect(findings.map(\.repair) == [nil])
                #expect(report.left == 1)
            }
        }
    }

    @Test("in a persistence location does not keep the file from being deleted either")
    func staged() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let folder = checked.host.temporary.appendingPathComponent(file.id.uuidString)
            try checked.plant([1], at: folder.appendingPathComponent("foreign"))
            try await withManager(checked.host, checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await #expect(lfs.waitForDeletions() == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                try #expect(foreignFiles(checked) == 1)
            }
        }
    }

    @Test(
        "Local bytes that cannot be removed do not keep those on the storage, and are tried again",
        .enabled(if: FolderInPlaceTests.canMakeImmutable, "needs root and chattr"))
    func stubbornBytes() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let local = checked.local(file.id).path
            let isImmutable = try runTool("chattr", ["+i", local])
            try #require(isImmutable)
            defer { #expect(throws: Never.self) { try runTool("chattr", ["-i", local]) } }
            try await withManager(checked.host, checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: file.id) }
                try await yield(while: checked.host.count("lfs_tombstone WHERE attempts > 0") == 0)
                #expect(!FileManager.default.fileExists(atPath: checked.object(file).path))
                try #expect(checked.host.filesInStore() == [file.id])
                try runTool("chattr", ["-i", local])
                try await yield(while: checked.host.count("lfs_tombstone") > 0)
                try #expect(checked.host.filesInStore().isEmpty)
            }
        }
    }

    private static let canMakeImmutable: Bool = {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-test-\(UUID().uuidString)")
        do {
            try Data().write(to: file)
            let isPossible = try Machine.has("chattr") && runTool("chattr", ["+i", file.path])
            if isPossible { try runTool("chattr", ["-i", file.path]) }
            try FileManager.default.removeItem(at: file)
            return isPossible
        } catch {
            print("chattr does not run: \(error)")
            return false
        }
    }()
}
