import Foundation
import GRDB
import LFSStorage
import LFSTesting
import Logging
import TestSupport
import Testing

@testable import LFS

/// Tests that write odd values into every column of every table of LFS and then call everything that an app can call.
///
/// `LFS_FUZZED_ROWS` sets the number of rows, and `LFS_FUZZ_SEED` the seed of an earlier run.
@Suite("Random rows", .serialized)
struct RowFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rows = environment["LFS_FUZZED_ROWS"].flatMap(Int.init) ?? 600
    private static let seed = environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 1

    @Test("Random values in rows crash nothing and change no file outside the store", arguments: [true, false])
    func fuzz(_ isChecked: Bool) async throws {
        try await withTemporaryFolder { folder in
            let canary = try Canary(in: folder)
            var (written, round) = (0, UInt64(0))
            while written < Self.rows {
                round += 1
                let seed = Self.seed &* 1_000_003 &+ round
                // The last such line identifies a run that ended with a signal.
                print(
                    "fuzz: round \(round), seed \(Self.seed), \(isChecked ? "checked" : "unchecked"), rows \(written)")
                written += try await fuzz(seed, isChecked: isChecked, canary: canary)
                try canary.requireUnchanged()
            }
        }
    }

    private func fuzz(_ seed: UInt64, isChecked: Bool, canary: Canary) async throws -> Int {
        let storage = InMemoryStorage()
        return try await withHost(storage: storage) { host -> Int in
            try await prepare(host)
            var writer = OddValues(seed: seed, canary: canary.folder.path)
            let written = try await writer.write(into: host.database, 40, isChecked: isChecked)
            await use(host)
            return written
        }
    }

    /// Creates seven files, among them uploaded, evicted, pinned, pending and deleted ones.
    private func prepare(_ host: TestHost) async throws {
        try await withManager(host) { lfs in
            let files = try await keptFiles(4, host: host, lfs: lfs)
            try await lfs.evict(files[0].id)
            try await lfs.pin([files[1].id])
            lfs.pause()
            var pending: [FileData] = []
            for _ in 0..<3 { pending.append(try await lfs.makeFile(from: .bytes(someBytes(500)))) }
            let made = pending
            try await host.database.write { db in
                for file in made { try file.insert(db) }
                try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
                try Recipe(title: "toast", photoId: made[0].id).insert(db)
            }
        }
        try await withManager(host, starts: false) { _ in
            try await host.database.write { try $0.execute(sql: "DELETE FROM lfs_file WHERE rowid = 3") }
        }
    }

    /// Calls everything once. A refused call must throw an error.
    private func use(_ host: TestHost) async {
        await tolerated {
            var options = host.options
            options.eviction = EvictionPolicy(maxByteCount: 2_000)
            options.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(2))
            // Log messages about odd rows would hide the failures.
            options.logger.logLevel = .critical
            try await withManager(host, options: options) { lfs in
                await tolerated { _ = try await lfs.status() }
                await tolerated { _ = try await lfs.verify(Self.repairing) }
                let files = try await self.files(host)
                for file in files {
                    await tolerated { _ = try await lfs.contents(of: file) }
                    await tolerated { _ = try await lfs.bytes(of: file, range: 0..<10) }
                    await tolerated { _ = try await lfs.localURL(of: file) }
                    await tolerated { try await lfs.pin([file.id]) }
                    await tolerated { try await lfs.unpin([file.id]) }
                    await tolerated { try await lfs.evict(file.id) }
                }
                await tolerated { _ = try await lfs.prefetch(FileData.all()) }
                await tolerated { _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) }
                await tolerated { try await lfs.retry() }
                await tolerated { try await lfs.retryDeletions() }
                await tolerated { try await host.database.write { try $0.execute(sql: "DELETE FROM recipe") } }
                await tolerated { _ = try await lfs.waitForUploads(timeout: .milliseconds(50)) }
                await tolerated { _ = try await lfs.waitForDeletions(timeout: .milliseconds(50)) }
                await tolerated { _ = try await lfs.filesLostByReset() }
                await tolerated { try await lfs.reset(.loseFilesThatAreNotUploaded(100)) }
            }
        }
    }

    private func files(_ host: TestHost) async throws -> [FileData] {
        try await host.database.read { db in
            let cursor = try FileData.fetchCursor(db)
            var files: [FileData] = []
            while true {
                do {
                    guard let file = try cursor.next() else { return files }
                    files.append(file)
                } catch let error as LFSError {
                    #expect(error.code == .invalidRow)
                }
            }
        }
    }

    private static var repairing: VerifyOptions {
        var options = VerifyOptions()
        options.checksContent = true
        options.repairs = true
        options.localGracePeriod = .zero
        options.remoteGracePeriod = .zero
        return options
    }

    /// Accepts only errors of LFS or of the database.
    private func tolerated(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            #expect(error is LFSError || error is DatabaseError, "\(error)")
        }
    }
}

/// A folder next to the stores that no call may change.
private struct Canary {
    let folder: URL
    private let before: [String: Data]

    init(in parent: URL) throws {
        folder = parent.appendingPathComponent("canary")
        for name in ["", "lfs.json", FileIDs.some, "incoming/\(FileIDs.some).part"] {
            let url = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            if !name.isEmpty { try Data("canary \(name)".utf8).write(to: url) }
        }
        before = try Self.look(folder)
    }

    func requireUnchanged() throws {
        let now = try Self.look(folder)
        #expect(now == before)
    }

    private static func look(_ folder: URL) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let url = folder.appendingPathComponent(name)
            let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
            let isFile = attributes[.type] as? FileAttributeType == .typeRegular
            found[name] = isFile ? try Data(contentsOf: url) : Data()
            found[name + " mode"] = Data("\(attributes[.posixPermissions] ?? 0)".utf8)
        }
        return found
    }
}

private enum FileIDs {
    static let some = "01000000-0000-7000-8000-000000000001"
}

/// Values that a program may have written accidentally or intentionally. The seed determines them.
private struct OddValues {
    private var generator: SeededGenerator
    private let canary: String

    init(seed: UInt64, canary: String) {
        generator = SeededGenerator(seed: seed)
        self.canary = canary
    }

    /// Writes into random rows, one column at a time. Returns the number of rows that the schema let through.
    mutating func write(into database: any DatabaseWriter, _ count: Int, isChecked: Bool) async throws -> Int {
        let columns = try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT m.name AS tableName, c.name AS columnName
                    FROM sqlite_master m, pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND m.name LIKE 'lfs\\_%' ESCAPE '\\'
                    ORDER BY 1, 2
                    """
            ).map { (table: $0["tableName"] as String, column: $0["columnName"] as String) }
        }
        var writes: [(sql: String, value: DatabaseValue)] = []
        for _ in 0..<count {
            guard let (table, column) = columns.randomElement(using: &generator) else { break }
            let row = Int.random(in: 0..<6, using: &generator)
            writes.append(
                (
                    """
                    UPDATE \(table) SET "\(column)" = ?
                    WHERE rowid IN (SELECT rowid FROM \(table) ORDER BY rowid LIMIT 1 OFFSET \(row))
                    """, value()
                ))
            if Int.random(in: 0..<4, using: &generator) == 0 {
                writes.append(("INSERT INTO lfs_location (path) VALUES (?)", value()))
                writes.append(("INSERT INTO lfs_tombstone (fileID, key) VALUES (?, 'a/b')", value()))
                writes.append(("INSERT INTO lfs_disowned (fileID) VALUES (?)", value()))
                writes.append(("INSERT INTO lfs_copy (fileID, lastUsed) VALUES ('\(FileIDs.some)', ?)", value()))
            }
        }
        let all = writes
        return try await database.writeWithoutTransaction { db in
            try db.execute(sql: "DROP TRIGGER IF EXISTS lfs_file_keep_content")
            if !isChecked { try db.execute(sql: "PRAGMA ignore_check_constraints = ON") }
            var count = 0
            for (sql, value) in all {
                do {
                    try db.execute(sql: sql, arguments: [value])
                    count += db.changesCount
                } catch let error as DatabaseError
                    where [.SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_MISMATCH].contains(error.resultCode)
                {
                    // The schema refuses the value.
                }
            }
            try db.execute(sql: "PRAGMA ignore_check_constraints = OFF")
            return count
        }
    }

    private mutating func value() -> DatabaseValue {
        let numbers: [Int64] = [.min, .max, -1, 0, 1, 2, 1 << 31, 1 << 50, 1 << 53, 4_102_444_800_000]
        let doubles = [1e300, -1e300, .infinity, 0.5, 1e18]
        let texts = [
            "", "soon", "local", "remote", "queued", "failed", "removing", "..", "../../x", "/", canary,
            canary + "/lfs.json", FileIDs.some, "\(FileIDs.some).part", "a/\(FileIDs.some)", "\u{1B}[2J", "\u{0}",
            "a\u{0}b",
            "é", "e\u{301}", String(repeating: "x", count: 5_000), "9999-12-31 23:59:59", "0000-01-01", "-4713-11-24",
            "2024-02-30 25:61:61", "now", "12:00", "http://[::1", "https://example.com/a?b=c", "file:///etc/passwd",
            "%zz", "image/*", "text/plain; charset=\"x\r\ny: z\"", #"{"partSize":9223372036854775807}"#,
            "9223372036854775807", "-9223372036854775808", "1e999",
        ]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return .null
        case 1, 2: return (numbers.randomElement(using: &generator) ?? 0).databaseValue
        case 3: return (doubles.randomElement(using: &generator) ?? 0).databaseValue
        case 4: return Data([0xFF, 0xFE, 0x00]).databaseValue
        case 5: return Data(texts.randomElement(using: &generator)?.utf8 ?? "".utf8).databaseValue
        default: return (texts.randomElement(using: &generator) ?? "").databaseValue
        }
    }
}
