import Foundation
import GRDB
import LFS
import LFSDatabase
import Testing

@testable import LFSBackup

@Suite("Unchanged originals", .timeLimit(.minutes(10)))
struct UnchangedTests {
    /// Returns a host that counts the app's lookups.
    private func host(_ app: PhotoApp, asked: Heard<Int>, files: Heard<Int>) -> BackupHost {
        BackupHost(
            records: { assets, db in
                asked.add(assets.count)
                return try #require(try app.host.records?(assets, db))
            },
            fileIDs: { assets, db in
                files.add(assets.count)
                return try #require(try app.host.files(of: assets, db))
            },
            insert: { attachment, db in try app.insert(attachment, db) })
    }

    private func source(_ app: PhotoApp) -> FolderSource {
        FolderSource([BackupGroup(".", mode: .include)], from: app.pictures.path)
    }

    @Test("Unchanged originals need only their file ids, and the others their records")
    func asked() async throws {
        try await withPhotoApp { app in
            for name in 0..<600 { try app.write("\(name)", bytes: someBytes(8)) }
            let (asked, files) = (Heard<Int>(), Heard<Int>())
            let backup = Backup(
                app.lfs, database: app.database, source: source(app), host: host(app, asked: asked, files: files))
            #expect(try await backup.run().attached == 600)
            #expect(files.values.isEmpty)
            try await app.lfs.waitForUploads()
            let before = asked.values.count
            try app.write("7", bytes: someBytes(9))
            let report = try await backup.run()
            #expect(report.unchanged == 599 && report.attached == 1)
            #expect(files.values.reduce(0, +) == 599)
            // The record is looked up when the original is found and when it is written. The other batches look up no
            // record.
            #expect(asked.values.dropFirst(before).reduce(0, +) == 2)
        }
    }

    @Test("Concurrent lookups keep the order of the walk")
    func order() async throws {
        try await withPhotoApp { app in
            for name in 0..<1_300 { try app.write("\(name)", bytes: someBytes(8)) }
            try await app.backUp()
            try await app.lfs.waitForUploads()
            for name in [3, 700, 1_299] { try app.write("\(name)", bytes: someBytes(9)) }
            var (walk, assets): (FolderWalk, [Asset]) = (try source(app).makeWalk(), [])
            while let item = walk.next() { if case .asset(let asset) = item { assets.append(asset) } }
            let found = try await UnchangedAssets(among: assets, app.host, lost: [], in: app.database)
            let changed: Set = ["3", "700", "1299"]
            let (others, unchanged) = (
                assets.filter { changed.contains("\($0.id.lastComponent)") },
                assets.filter { !changed.contains("\($0.id.lastComponent)") }
            )
            #expect(found.others.map(\.id) == others.map(\.id))
            #expect(found.unchanged.map(\.id) == unchanged.map(\.id) && unchanged.count == 1_297)
        }
    }

    @Test("An original that appears again in a later batch is attached once")
    func metTwice() async throws {
        try await withPhotoApp { app in
            for name in 0..<1_100 { try app.write("\(name)", bytes: someBytes(8)) }
            let groups = [BackupGroup(".", mode: .include), BackupGroup("5", mode: .include)]
            let backup = Backup(
                app.lfs, database: app.database, source: FolderSource(groups, from: app.pictures.path), host: app.host)
            let first = try await backup.run()
            #expect(first.attached == 1_100 && first.unchanged == 1)
            try await app.lfs.waitForUploads()
            try app.write("5", bytes: someBytes(9))
            let second = try await backup.run()
            #expect(second.attached == 1 && second.unchanged == 1_100)
            // The row of the former file is deleted together with its object.
            try await app.lfs.waitForDeletions()
            #expect(try await app.database.read { try FileData.fetchCount($0) } == 1_100)
        }
    }

    private static let portionCases: [([Int64], [Int])] = [
        (Array(repeating: 1, count: 600), [256, 256, 88]),
        ([67_108_864, 1, 2, 67_108_861, 1], [1, 3, 1]),
        ([.max, .max, 5, .max, -1, .min, 3], [1, 1, 2, 3]),
        ([], []),
    ]

    @Test(
        "The files and bytes of one transaction are bounded, whatever sizes are reported",
        arguments: portionCases)
    func portions(_ sizes: [Int64], counts: [Int]) {
        let assets = sizes.enumerated().map { index, size in
            Asset(
                id: AssetName("\(index)"), title: AssetName("\(index)"),
                stamp: AssetVersion(byteCount: size, text: "\(index)"), groups: [])
        }
        let portions = AssetBatch.portions(assets)
        #expect(portions.map(\.count) == counts)
        #expect(portions.flatMap { $0 }.map(\.id) == assets.map(\.id))
    }

    @Test("Originals of unknown size are attached 16 at a time")
    func unknownSizes() {
        let assets = (0..<40).map { index in
            Asset(
                id: AssetName("\(index)"), title: AssetName("\(index)"),
                stamp: AssetVersion(byteCount: nil, text: "\(index)"), groups: [])
        }
        #expect(AssetBatch.portions(assets).map(\.count) == [16, 16, 8])
    }

    @Test("A lower limit on open files attaches fewer files in one transaction", arguments: [4, 16])
    func fewOpenFiles(_ largest: Int) {
        let assets = (0..<largest * 2 + 1).map { index in
            Asset(
                id: AssetName("\(index)"), title: AssetName("\(index)"),
                stamp: AssetVersion(byteCount: 1, text: "\(index)"), groups: [])
        }
        #expect(AssetBatch.portions(assets, atMost: largest).map(\.count) == [largest, largest, 1])
    }

    @Test("An original whose record is missing or has another file is not unchanged")
    func otherRecord() async throws {
        try await withPhotoApp { app in
            for name in ["a", "b", "c"] { try app.write(name, bytes: someBytes()) }
            let backup = Backup(
                app.lfs, database: app.database, source: source(app),
                host: host(app, asked: Heard<Int>(), files: Heard<Int>()))
            try await backup.run()
            try await app.lfs.waitForUploads()
            let (a, b) = (try #require(try await app.file("a")), try #require(try await app.file("b")))
            // Both files are kept for other records.
            try await app.run("INSERT INTO photo (path, fileId) VALUES ('1', ?), ('2', ?)", arguments: [a.id, b.id])
            try await app.run("DELETE FROM photo WHERE path LIKE '%/b'")
            try await app.run("UPDATE photo SET fileId = ? WHERE path LIKE '%/a'", arguments: [b.id])
            try await app.lfs.waitForDeletions()
            let report = try await backup.run()
            #expect(report.unchanged == 1 && report.declined == 1 && report.attached == 1)
            #expect(try await app.file("a")?.sha256 == a.sha256)
        }
    }

    /// The values that other programs may write, each into one column of a database without its checks.
    private static let values = [
        "NULL", "''", "'x'", "x'00'", "x'ff'", "-1", "7", "1e300", "1152921504606846977", "'9999-99-99'",
        "CAST(x'ff' AS TEXT)",
    ]
    private static let columns: [(table: String, names: [String])] = [
        (
            "lfs_file",
            [
                "status", "url", "proof", "name", "contentType", "byteCount", "sha256", "crc64", "key", "createdAt",
                "updateID",
            ]
        ),
        ("lfs_source", ["stamp", "byteCount", "sha256", "fileID", "state"]),
    ]

    @Test("A row with any value in a column is settled only if it is readable")
    func oddRows() async throws {
        try await withPhotoApp { app in
            let url = try app.write("a", bytes: someBytes())
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let id = AssetName(url.path).source
            let file = try #require(try await app.file("a")).id
            // Each change runs in a transaction that is rolled back, so that the database keeps nothing of it.
            try await app.database.writeWithoutTransaction { db in
                let (settled, rows) = try isSettled(id, file: file, db)
                #expect(settled && rows)
                try db.execute(sql: "PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0")
                var (found, readable) = (0, 0)
                for (table, names) in Self.columns {
                    for name in names {
                        for value in Self.values {
                            try db.inTransaction {
                                do {
                                    try db.execute(sql: "UPDATE \(table) SET \(name) = \(value)")
                                } catch is DatabaseError {
                                    // A check or NOT NULL rejects the value.
                                    return .rollback
                                }
                                let (settled, rows) = try isSettled(id, file: file, db)
                                #expect(rows || !settled, "\(table).\(name) = \(value)")
                                found += 1
                                readable += settled ? 1 : 0
                                return .rollback
                            }
                        }
                    }
                }
                try db.execute(sql: "PRAGMA ignore_check_constraints = 0; PRAGMA foreign_keys = 1")
                #expect(found > 100 && readable > 10)
            }
        }
    }

    /// Returns whether a lookup finds the row, and whether its rows are readable and consistent.
    private func isSettled(_ id: SourceID, file: FileID, _ db: Database) throws -> (Bool, rows: Bool) {
        let settled = try SourceTable.settled([id], db)[id]
        let row = try SourceTable.rows([id], db)[id]
        let known = try FileTable.rows([file], db).first?.readable
        let isSame =
            row?.fileID == known?.id && row?.sha256 == known?.sha256 && row?.byteCount == known?.byteCount
            && known?.status == .remote && row?.state == .attached
        return (settled != nil, row != nil && known != nil && isSame)
    }

    @Test(
        "An original with a waiting, failed, damaged or lost file is not unchanged",
        arguments: ["queued", "failed", "damaged", "lost"])
    func unsettled(_ state: String) async throws {
        try await withPhotoApp { app in
            try app.write("a", bytes: someBytes())
            try await app.backUp()
            try await app.lfs.waitForUploads()
            // Without the pause, the file may be uploaded again before the lookup.
            app.lfs.pause()
            let file = try #require(try await app.file("a"))
            var lost: Set<FileData.ID> = []
            let now: Int64 = 1_800_000_000_000
            let job = "INSERT INTO lfs_job (fileID, state, lane, byteCount, notBefore) VALUES (?, ?, 0, 1, ?)"
            switch state {
            case "queued": try await app.run(job, arguments: [file.id, state, now + 3_600_000])
            case "failed": try await app.run(job, arguments: [file.id, state, 0])
            case "damaged":
                try await app.database.write { try JobTable.noteDamage(of: file.id, "other bytes", now: now, $0) }
            default: lost = [file.id]
            }
            let asset = try asset(app, name: "a")
            #expect(try await !isUnchanged(asset, app: app, lost: lost))
            try await app.run("DELETE FROM lfs_job")
            #expect(try await isUnchanged(asset, app: app, lost: []))
        }
    }

    private func isUnchanged(_ asset: Asset, app: PhotoApp, lost: Set<FileData.ID>) async throws -> Bool {
        try await UnchangedAssets(among: [asset], app.host, lost: lost, in: app.database).others.isEmpty
    }

    private func asset(_ app: PhotoApp, name: String) throws -> Asset {
        var walk = try source(app).makeWalk()
        while let item = walk.next() {
            if case .asset(let asset) = item, asset.id.lastComponent == AssetName(name) { return asset }
        }
        throw CocoaError(.fileNoSuchFile)
    }
}
