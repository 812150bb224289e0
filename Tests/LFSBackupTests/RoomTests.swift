import Foundation
import GRDB
import LFS
import LFSBackup
import Testing

@Suite("A disk without room for all originals", .timeLimit(.minutes(10)))
struct RoomTests {
    private static func options(
        _ ask: @escaping @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> BackupRoom.Answer
    ) -> BackupOptions {
        var options = BackupOptions()
        options.room = BackupRoom(ask)
        return options
    }

    /// What is told of those that failed, by their names.
    private static func failures(_ heard: Heard<BackupEvent>) -> [String: String] {
        var failures: [String: String] = [:]
        for case .failed(let name, let reason) in heard.values {
            failures[URL(fileURLWithPath: name.description).lastPathComponent] = reason
        }
        return failures
    }

    @Test("Those that get room are attached, and one that gets none is told")
    func refused() async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", someBytes(number == 4 ? 5_000 : 100)) }
            let (asked, heard) = (Heard<[Int64]>(), Heard<BackupEvent>())
            let options = Self.options { sizes, _ in
                asked.add(sizes)
                return sizes[0] > 1_000 ? .refuse("no room") : .take(min(sizes.prefix { $0 < 1_000 }.count, 3))
            }
            let report = try await app.backUp(nil, options) { heard.add($0) }
            #expect(report.attached == 8 && report.failed == 1)
            #expect(Self.failures(heard) == ["4.jpg": "no room"])
            // In whatever order they come: three at a time, and the one by itself.
            #expect(asked.values.first?.count == 9 && (4...5).contains(asked.values.count))
        }
    }

    /// A host that finds no room for one original, wherever it comes.
    private static func host(_ app: PhotoApp, without name: String) -> BackupHost {
        BackupHost { attachment, db in
            if attachment.asset.id.description.hasSuffix(name) { throw DatabaseError(resultCode: .SQLITE_FULL) }
            try app.insert(attachment, db)
        }
    }

    @Test(
        "Where the disk is full all the same, fewer are tried, until the one is alone that does not fit",
        arguments: [true, false])
    func full(isFreed: Bool) async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", someBytes()) }
            let (asked, heard) = (Heard<Bool>(), Heard<BackupEvent>())
            let options = Self.options { sizes, wasRefused in
                asked.add(wasRefused)
                return wasRefused && !isFreed ? .refuse("no room") : .take(sizes.count)
            }
            let source = FolderSource([BackupGroup(app.pictures.path, .include)])
            let backup = Backup(app.lfs, app.database, source, Self.host(app, without: "4.jpg"), options: options)
            let report = try await backup.run { heard.add($0) }
            #expect(report.attached == 8 && report.failed == 1)
            #expect(Self.failures(heard).keys.sorted() == ["4.jpg"])
            // It is tried again while something is freed, and not for ever.
            #expect(asked.values.filter(\.self).count == (isFreed ? 63 : 1))
            #expect(asked.values.count < 80)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 8)
        }
    }

    @Test("Where nobody looks for room, a full disk ends the backup")
    func nobodyLooks() async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", someBytes()) }
            let source = FolderSource([BackupGroup(app.pictures.path, .include)])
            let backup = Backup(app.lfs, app.database, source, Self.host(app, without: "4.jpg"))
            await #expect(throws: DatabaseError.self) { try await backup.run() }
            #expect(try await app.count("photo") == 0)
        }
    }
}
