import Foundation
import GRDB
import Testing

/// Rows are untrusted input, because other programs and devices write them. `LFS_FUZZ_ROUNDS` and `LFS_FUZZ_ROWS` set
/// the number of attempts, `LFS_FUZZ_SEED` sets the seed.
@Suite("Rows with random values", .serialized, .timeLimit(.minutes(90)))
struct RowFuzzTests {
    private static func setting(_ name: String, usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    private static let commands: [[String]] = {
        let storage = ["--to", "dir:remote"]
        let run = storage + ["--give-up-after", "0.5s", "--max-executors", "50"]
        return [
            ["status"], ["status", "--json"], ["list"], ["list", "--json"], ["free", "--dry-run", "--json"],
            ["verify", "--local-only"] + storage, ["verify", "--json", "--content"] + storage,
            ["pull", "--all", "--dry-run", "--output", "out"] + run, ["pull", "--all", "--output", "out"] + run,
            ["pull", "--all", "--overwrite", "--output", "out"] + run, ["push", "--dry-run", "files"] + storage,
            ["push", "-v", "files"] + run, ["resume", "--json"] + run,
            ["verify", "--repair", "--orphan-age", "0"] + run, ["free"],
        ]
    }()

    @Test("No command crashes on random row values or writes outside its folders")
    func anyValue() throws {
        let (rounds, rows) = (Self.setting("LFS_FUZZ_ROUNDS", usual: 1), Self.setting("LFS_FUZZ_ROWS", usual: 300))
        let seed = Self.setting("LFS_FUZZ_SEED", usual: 20_261_121)
        var (taken, ended) = (0, [Int32: Int]())
        try withFolder(files: 60, byteCount: 300) { base in
            // Folders and links are rows too.
            for number in 0..<30 {
                let inner = base.appendingPathComponent("files/folder\(number)")
                try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
                try FileManager.default.createSymbolicLink(
                    atPath: inner.path + "/link", withDestinationPath: "../../canary")
            }
            let pushed = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: base)
            try #require(pushed.status == 0, "\(pushed.messages)")
            for round in 0..<rounds {
                var values = RandomValues(seed: UInt64(bitPattern: Int64(seed + round)))
                try withFolder { folder in
                    for name in ["a.sqlite", "a.sqlite.lfs", "remote", "files"] {
                        let target = folder.appendingPathComponent(name)
                        if name == "files" { try FileManager.default.removeItem(at: target) }
                        try FileManager.default.copyItem(at: base.appendingPathComponent(name), to: target)
                    }
                    let canary = try Canary(in: folder)
                    values.paths = canary.paths
                    // A bad value in this row prevents every command from opening the database, so most rounds spare
                    // it.
                    taken += try Scribbler(folder.appendingPathComponent("a.sqlite"), sparesState: round % 5 != 4)
                        .scribble(rows, values: &values)
                    for command in Self.commands + [["remove", "--to", "dir:remote"] + (try ids(folder))] {
                        let run = try UploaderProcess(
                            [command[0], "--database", "a.sqlite"] + command.dropFirst(), in: folder
                        ).wait()
                        ended[run.status, default: 0] += 1
                        #expect(
                            [0, 1, 3, 5, 64].contains(run.status),
                            "seed \(seed + round): \(command): \(run.status) \(Self.cause(run.messages))")
                    }
                    #expect(try canary.isUnchanged(), "seed \(seed + round)")
                }
            }
        }
        print("rows with other values: \(taken), exit statuses: \(ended.sorted { $0.key < $1.key })")
        #expect(taken > rounds * rows / 2)
    }

    /// Returns the lines of a crash that name its place.
    private static func cause(_ messages: String) -> String {
        let lines = messages.split(separator: "\n").filter { $0.contains("Fatal error") || $0.contains(" at /") }
        return lines.prefix(12).joined(separator: "\n")
    }

    /// Returns some ids after the changes. They may be invalid.
    private func ids(_ folder: URL) throws -> [String] {
        let queue = try DatabaseQueue(path: folder.appendingPathComponent("a.sqlite").path)
        let rows = try queue.read { try Row.fetchAll($0, sql: "SELECT id FROM lfs_file LIMIT 3") }
        try queue.close()
        return ["--"] + rows.compactMap { String.fromDatabaseValue($0[0]) }.filter { !$0.contains("\0") } + ["x"]
    }
}

/// Writes values into a database's tables. It bypasses triggers and foreign keys, but not the checks.
struct Scribbler {
    private let file: URL
    private let sparesState: Bool

    init(_ file: URL, sparesState: Bool) { (self.file, self.sparesState) = (file, sparesState) }

    /// - Returns: the number of rows that accepted a value.
    func scribble(_ count: Int, values: inout RandomValues) throws -> Int {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: file.path, configuration: configuration)
        var generator = values
        // Some errors roll back the whole transaction, so each change has its own.
        let taken = try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = OFF")
            let triggers = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            for row in triggers { try db.execute(sql: "DROP TRIGGER \(row["name"] as String)") }
            let tables = try tables(db)
            var taken = 0
            // Some columns accept few values, so there are more attempts than rows.
            for _ in 0..<count * 20 where taken < count {
                let (table, columns) = tables[generator.index(tables.count)]
                do {
                    taken += try change(table, columns: columns, db, values: &generator) ? 1 : 0
                } catch is DatabaseError {
                    continue  // a check refused it, or the greatest row number has been given away
                }
            }
            for row in triggers { try db.execute(sql: row["sql"]) }
            return taken
        }
        values = generator
        try queue.close()
        return taken
    }

    private func tables(_ db: Database) throws -> [(String, [String])] {
        let names = try String.fetchAll(
            db,
            sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '*_*' AND name NOT LIKE 'sqlite_%'")
        return try names.filter {
            ($0.hasPrefix("lfs_") || $0.hasPrefix("uploader_")) && !(sparesState && $0 == "lfs_state")
        }.map { ($0, try db.columns(in: $0).map(\.name)) }
    }

    private func change(
        _ table: String, columns: [String], _ db: Database, values: inout RandomValues
    ) throws -> Bool {
        if values.index(3) == 0, table != "lfs_state" {
            let marks = databaseQuestionMarks(count: columns.count)
            let row = columns.map { values.value(for: $0) }
            try db.execute(sql: "INSERT INTO \(table) VALUES (\(marks))", arguments: StatementArguments(row))
            return true
        }
        let column = columns[values.index(columns.count)]
        // A value of another row is accepted more often than a random one.
        let value =
            values.index(4) == 0
            ? try Row.fetchOne(db, sql: "SELECT \(column) FROM \(table) ORDER BY random() LIMIT 1").map { $0[0] }
                ?? .null
            : values.value(for: column)
        try db.execute(
            sql: "UPDATE \(table) SET \(column) = ? WHERE rowid = (SELECT rowid FROM \(table) LIMIT 1 OFFSET ?)",
            arguments: [value, values.index(60)])
        return db.changesCount > 0
    }
}

/// A generator of unexpected values. The same seed gives the same values (SplitMix64).
struct RandomValues: RandomNumberGenerator {
    /// Paths that no row may lead to.
    var paths: [String] = []
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func index(_ count: Int) -> Int { Int.random(in: 0..<max(count, 1), using: &self) }

    mutating func value(for column: String) -> DatabaseValue {
        // Half of the values have the form that the column's check requires.
        if index(2) == 0 {
            switch column {
            case "id", "fileID", "fileId", "databaseID", "documentId":
                return digits(36, alphabet: "0123456789abcdef-").databaseValue
            case "sha256": return digits(64, alphabet: "0123456789abcdef").databaseValue
            case "status", "state", "jobState":
                let all = ["local", "remote", "queued", "failed", "cancelled", "pending", "removing"]
                return all[index(all.count)].databaseValue
            case "byteCount", "notBefore", "attempts", "lane", "generation", "sweepsFrom", "lastUsed":
                return integer().databaseValue
            default: break
            }
        }
        switch index(6) {
        case 0: return .null
        case 1, 2: return integer().databaseValue
        case 3:
            let numbers = [-1.5, 0.1, 1e18, 9.3e18, 1e308, .infinity, -.infinity, Double.leastNonzeroMagnitude]
            return numbers[index(8)].databaseValue
        case 4: return Data((0..<index(64)).map { _ in UInt8.random(in: .min ... .max, using: &self) }).databaseValue
        default: return text().databaseValue
        }
    }

    private mutating func integer() -> Int64 {
        let known: [Int64] = [0, 1, -1, 2, .max, .min, .max - 1, 1 << 31, 1 << 53, 1 << 62, 1_700_000_000_000]
        return index(3) == 0 ? Int64(bitPattern: next()) : known[index(known.count)]
    }

    private mutating func text() -> String {
        let known =
            [
                "", " ", "soon", "-1", "9999999999999999999", "NaN", "1970-01-01 00:00:00.000", "-4713-11-24", "12:61",
                "9999-12-31 23:59:60", "../../canary/file", "/", ".", "..", "a/../../b", "\0", "a\0b",
                "\u{1B}[2J\u{9B}",
                "\u{202E}", "http://", "http://[", "file:///etc/passwd", "s3://", "{\"partSize\":9223372036854775807}",
                "%zz", String(repeating: "x", count: 5_000), String(repeating: "é/", count: 300), "lost", "noSpace",
                "sourceChanged", "uploader_document", "id",
            ] + paths
        return known[index(known.count)]
    }

    private mutating func digits(_ count: Int, alphabet: String) -> String {
        let all = Array(alphabet)
        return String((0..<count).map { _ in all[index(all.count)] })
    }
}

/// Files outside the uploader's folders, at places that rows may point to.
struct Canary {
    private let root: URL
    private let before: [String: String]
    let paths: [String]

    init(in folder: URL) throws {
        root = folder.appendingPathComponent("canary")
        let inner = root.appendingPathComponent("other.sqlite.lfs/temporary")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        let ids = (0..<4).map { _ in UUID().uuidString.lowercased() }
        for id in ids {
            for place in [root, inner, inner.deletingLastPathComponent()] {
                try randomData(50).write(to: place.appendingPathComponent(id))
            }
        }
        try randomData(50).write(to: root.appendingPathComponent("file"))
        try FileManager.default.createSymbolicLink(
            at: root.appendingPathComponent("link"), withDestinationURL: root.appendingPathComponent("file"))
        paths = [
            root.path, inner.path, inner.deletingLastPathComponent().path, root.path + "/file", root.path + "/link",
        ]
        before = try Self.look(root)
    }

    func isUnchanged() throws -> Bool { try Self.look(root) == before }

    /// Returns the content, mode and kind of everything below the root.
    private static func look(_ root: URL) throws -> [String: String] {
        var seen: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            let path = root.appendingPathComponent(name).path
            let values = try FileManager.default.attributesOfItem(atPath: path)
            let isFile = values[.type] as? FileAttributeType == .typeRegular
            let content = isFile ? try Data(contentsOf: URL(fileURLWithPath: path)).base64EncodedString() : ""
            seen[name] = "\(values[.type] ?? "") \(values[.posixPermissions] ?? "") \(content)"
        }
        return seen
    }
}
