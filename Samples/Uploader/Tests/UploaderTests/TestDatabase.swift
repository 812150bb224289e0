import Foundation
import GRDB
import Testing

/// Helpers that read and change an uploader's database from outside.
enum TestDatabase {
    /// Opens a database that an uploader may be writing to.
    static func open(_ file: URL, isReadOnly: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(300)
        configuration.readonly = isReadOnly
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }

    static func execute(_ sql: String, in file: URL) throws {
        let queue = try open(file)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Writes a copy of a database without its local files.
    static func copy(_ file: URL, to copy: URL) throws {
        let queue = try open(file)
        try queue.vacuum(into: copy.path)
        try queue.close()
    }

    struct Entry { var path: String; var id: String; var status: String; var key: String }

    static func entries(in file: URL) throws -> [Entry] {
        let queue = try open(file)
        let rows = try queue.read {
            try Row.fetchAll(
                $0,
                sql: "SELECT d.path, f.id, f.status, f.key FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId")
        }
        try queue.close()
        return rows.map { Entry(path: $0[0], id: $0[1], status: $0[2], key: $0[3]) }
    }

    /// Returns the keys of the files in the order of their last change.
    static func keys(in file: URL) throws -> [String] {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        return try queue.read { try String.fetchAll($0, sql: "SELECT key FROM lfs_file ORDER BY updateID") }
    }

    /// Returns the ids of the documents by their paths.
    static func documents(in file: URL) throws -> [String: String] {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        let rows = try queue.read { try Row.fetchAll($0, sql: "SELECT path, id FROM uploader_document") }
        return Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    static func ids(in file: URL) throws -> [String] {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        return try queue.read { try String.fetchAll($0, sql: "SELECT id FROM lfs_file ORDER BY id") }
    }

    /// Returns the prefix of the keys of the database's files.
    static func namespace(of file: URL) throws -> String {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        return try queue.read { db in try #require(try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state")) }
    }

    /// Returns the SQL text of every table, index and trigger.
    static func schema(of file: URL) throws -> [String] {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        return try queue.read { db in
            try String.fetchAll(db, sql: "SELECT name || coalesce(sql, '') FROM sqlite_master ORDER BY name")
        }
    }

    static func journalMode(of file: URL) throws -> String? {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        return try queue.read { db in try String.fetchOne(db, sql: "PRAGMA journal_mode") }
    }

    static func setJournalMode(_ mode: String, of file: URL) throws {
        let queue = try open(file)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = \(mode)") }
        try queue.close()
    }

    /// Queues the upload of a file again, as if it had never been uploaded.
    static func forgetUpload(of id: String, in file: URL) throws {
        try execute("DROP TRIGGER IF EXISTS lfs_file_keep_remote", in: file)
        try execute("UPDATE lfs_file SET status = 'local', url = NULL WHERE id = '\(id)'", in: file)
        try execute(
            "INSERT INTO lfs_job (fileID, lane, byteCount, notBefore) VALUES ('\(id)', 0, 10240, 0)", in: file)
    }

    /// Returns true if an uploader has created the database and this table.
    static func hasTable(_ name: String, in file: URL) throws -> Bool {
        guard FileManager.default.fileExists(atPath: file.path) else { return false }
        return try count("sqlite_master WHERE name = '\(name)'", in: file) == 1
    }

    /// Copies a database in the middle of a transaction, as a kill would leave it.
    static func copyHalfDone(_ file: URL, to copy: URL) throws {
        let queue = try open(file)
        defer { #expect(throws: Never.self) { try queue.close() } }
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; BEGIN IMMEDIATE")
            try db.execute(sql: "CREATE TABLE half (bytes BLOB)")
            for _ in 0..<100 { try db.execute(sql: "INSERT INTO half VALUES (randomblob(8000))") }
            try FileManager.default.copyItem(at: file, to: copy)
            let journal = URL(fileURLWithPath: file.path + "-journal")
            try FileManager.default.copyItem(at: journal, to: URL(fileURLWithPath: copy.path + "-journal"))
            try db.execute(sql: "ROLLBACK")
        }
    }

    /// Counts rows, also while an uploader uses the database. Only a writable connection can roll back the transaction
    /// that a kill has left.
    static func count(_ sql: String, in file: URL) throws -> Int {
        do {
            return try count(sql, in: file, isReadOnly: true)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
            return try count(sql, in: file, isReadOnly: false)
        }
    }

    private static func count(_ sql: String, in file: URL, isReadOnly: Bool) throws -> Int {
        let queue = try open(file, isReadOnly: isReadOnly)
        let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(sql)") ?? -1 }
        try queue.close()
        return count
    }
}
