import Foundation
import GRDB
import LFS
import LFSBackup
import Testing

@Suite("Backups without enough disk space", .timeLimit(.minutes(10)))
struct RoomTests {
    private static func options(
        _ ask: @escaping @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> BackupSpace.Answer
    ) -> BackupOptions {
        var options = BackupOptions()
        options.room = BackupSpace(ask)
        options.copiesOriginals = true
        return options
    }

    /// Returns the reasons of the failures by file name.
    private static func failures(_ heard: Heard<BackupEvent>) -> [String: String] {
        var failures: [String: String] = [:]
        for case .failed(let name, let reason) in heard.values {
            failures[URL(fileURLWithPath: name.description).lastPathComponent] = reason
        }
        return failures
    }

    @Test("Originals that get disk space are attached, and a refused one is reported")
    func refused() async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", bytes: someBytes(number == 4 ? 5_000 : 100)) }
            let (asked, heard) = (Heard<[Int64]>(), Heard<BackupEvent>())
            let options = Self.options { sizes, _ in
                asked.add(sizes)
                return sizes[0] > 1_000 ? .refuse("no room") : .take(min(sizes.prefix { $0 < 1_000 }.count, 3))
            }
            let report = try await app.backUp(nil, options: options) { heard.add($0) }
            #expect(report.attached == 8 && report.failed == 1)
            #expect(Self.failures(heard) == ["4.jpg": "no room"])
            // Independent of the order, they are taken three at a time, and the large one alone.
            #expect(asked.values.first?.count == 9 && (4...5).contains(asked.values.count))
        }
    }

    /// Returns a host that has no disk space for one original, whatever its position is.
    private static func host(_ app: PhotoApp, without name: String) -> BackupHost {
        BackupHost { attachment, db in
            if attachment.asset.id.description.hasSuffix(name) { throw DatabaseError(resultCode: .SQLITE_FULL) }
            try app.insert(attachment, db)
        }
    }

    @Test(
        "A full disk makes batches smaller until the original that does not fit is alone",
        arguments: [true, false])
    func full(isFreed: Bool) async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", bytes: someBytes()) }
            let (asked, heard) = (Heard<Bool>(), Heard<BackupEvent>())
            let options = Self.options { sizes, wasRefused in
                asked.add(wasRefused)
                return wasRefused && !isFreed ? .refuse("no room") : .take(sizes.count)
            }
            let source = FolderSource([BackupGroup(app.pictures.path, mode: .include)])
            let backup = Backup(
                app.lfs, database: app.database, source: source, host: Self.host(app, without: "4.jpg"),
                options: options)
            let report = try await backup.run { heard.add($0) }
            #expect(report.attached == 8 && report.failed == 1)
            #expect(Self.failures(heard).keys.sorted() == ["4.jpg"])
            // The original is tried again while space is freed, but not forever.
            #expect(asked.values.filter(\.self).count == (isFreed ? 63 : 1))
            #expect(asked.values.count < 80)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 8)
        }
    }

    @Test("A full disk ends a backup that does not check for disk space")
    func nobodyLooks() async throws {
        try await withPhotoApp { app in
            for number in 0..<9 { try app.write("\(number).jpg", bytes: someBytes()) }
            let source = FolderSource([BackupGroup(app.pictures.path, mode: .include)])
            let backup = Backup(app.lfs, database: app.database, source: source, host: Self.host(app, without: "4.jpg"))
            await #expect(throws: DatabaseError.self) { try await backup.run() }
            #expect(try await app.count("photo") == 0)
        }
    }
}
