import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing

/// The implementations that the conformance suite tests.
enum Implementation: String, CaseIterable, CustomTestStringConvertible {
    case folder
    case database

    var testDescription: String { rawValue }
}

/// A journal in a temporary folder, with methods that damage it from outside.
struct Subject: Sendable {
    let implementation: Implementation
    let base: URL
    let journal: any StreamingFileStorageService
    let storage: InMemoryStorage

    var database: DatabaseStorageService? { journal as? DatabaseStorageService }
    var local: LocalFileStorageService? { journal as? LocalFileStorageService }

    /// Opens a journal. The database's manager is started.
    static func open(
        _ implementation: Implementation, in base: URL, storage: InMemoryStorage = InMemoryStorage()
    ) async throws -> Subject {
        let journal: any StreamingFileStorageService
        switch implementation {
        case .folder: journal = LocalFileStorageService(folder: base.appending(path: "journal"))
        case .database:
            let service = try await DatabaseStorageService.open(
                at: base.appending(path: "journal.sqlite"), options: LFSOptions(storage: storage))
            try service.lfs.start()
            journal = service
        }
        return Subject(implementation: implementation, base: base, journal: journal, storage: storage)
    }

    func close() async throws { try await database?.close() }

    /// Closes the journal and opens it as the next process would.
    func reopened() async throws -> Subject {
        try await close()
        return try await Subject.open(implementation, in: base, storage: storage)
    }

    // MARK: The folder

    func path(_ parts: String...) -> URL { base.appending(path: "journal/" + parts.joined(separator: "/")) }

    func recordFile(_ record: TimeRecord) -> URL {
        let month = record.start.formatted(Date.ISO8601FormatStyle().year().month().dateSeparator(.dash))
        return path("records", month.replacing("-", with: "/"), "\(record.name).json")
    }

    private func block(_ url: URL) throws {
        if FileManager.default.fileExists(atPath: url.path) { try FileManager.default.removeItem(at: url) }
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func execute(_ sql: String, arguments: StatementArguments = []) async throws {
        try await database?.database.write { db in try db.execute(sql: sql, arguments: arguments) }
    }

    // MARK: Damage

    func corruptTags() async throws {
        guard implementation == .folder else {
            return try await execute("INSERT INTO tag (id, position, name) VALUES ('nonsense', 99, '')")
        }
        try FileManager.default.createDirectory(at: path(), withIntermediateDirectories: true)
        try Data("[{".utf8).write(to: path("tags.json"))
    }

    func corrupt(_ record: TimeRecord) async throws {
        if implementation == .folder { try Data("{\"id\": 7".utf8).write(to: recordFile(record)) }
        try await execute("UPDATE record SET startedAt = 'x', endedAt = NULL WHERE id = ?", arguments: [record.name])
    }

    func breakReading() async throws {
        if implementation == .folder {
            try block(path("tags.json"))
            try? FileManager.default.removeItem(at: path("records"))
            try Data().write(to: path("records"))
        }
        try await execute("ALTER TABLE record RENAME TO record_away; ALTER TABLE tag RENAME TO tag_away")
    }

    func breakTagWriting() async throws {
        if implementation == .folder { try block(path("tags.json")) }
        try await execute(Self.broken("tag"))
    }

    func breakWriting(of record: TimeRecord) async throws {
        if implementation == .folder { try block(recordFile(record)) }
        try await execute(Self.broken("record"))
    }

    func breakImageWriting(_ name: String, of record: TimeRecord) async throws {
        if implementation == .folder { try block(recordFile(record).deletingLastPathComponent().appending(path: name)) }
        try await execute(Self.broken("picture"))
    }

    private static func broken(_ table: String) -> String {
        "CREATE TRIGGER broken BEFORE INSERT ON \(table) BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END"
    }

    /// Removes the bytes of a picture from this device and from the storage, but keeps its name.
    func loseImage(_ name: String, of record: TimeRecord) async throws {
        guard let database else {
            return try FileManager.default.removeItem(at: journal.imageURL(filename: name, for: record))
        }
        try await database.lfs.waitForUploads()
        let file = try await database.imageFile(filename: name, for: record)
        try await database.lfs.evict(file.id)
        try await storage.delete(ObjectKey(file.key), abandoning: nil)
    }

    /// Checks that no unfinished file is on this device, and that every object of the storage has a row.
    func requireTidy() async throws {
        let path = base.appending(
            path: implementation == .folder ? "journal/.temporary" : "journal.sqlite.lfs/temporary")
        if let database {
            _ = try await database.lfs.waitForUploads()
            #expect(try await database.lfs.waitForDeletions() == 0)
            let keys = try await database.database.read { db in
                Set(try FileData.fetchAll(db).map(\.key))
            }
            #expect(Set(storage.keys.map { "\($0)" }).subtracting(keys) == [])
        }
        guard FileManager.default.fileExists(atPath: path.path) else { return }
        let left = try FileManager.default.contentsOfDirectory(atPath: path.path)
        #expect(left.isEmpty, "left: \(left)")
    }
}

extension TimeRecord {
    var name: String { id.uuidString.lowercased() }

    func image(_ index: Int, fileExtension: String = "jpg") -> String { "\(name)_\(index).\(fileExtension)" }
}

/// Opens a journal in a new folder, closes it afterwards, and checks that no unfinished file is left.
func withJournal(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
    try await withFolder { folder in
        let subject = try await Subject.open(implementation, in: folder.appending(path: "base"))
        do {
            try await body(subject)
        } catch {
            try await subject.close()
            throw error
        }
        // With a folder, this process must have cleaned up. With a database, the next process may do it.
        let next = implementation == .folder ? subject : try await subject.reopened()
        try await next.requireTidy()
        try await next.close()
    }
}

/// Runs the body with a temporary folder.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "journal-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try await body(folder)
}

/// Runs the body with a folder that has `journal.sqlite`, a journal with three records and no pictures.
func withDemo(_ body: (URL) async throws -> Void) async throws {
    try await withFolder { folder in
        let arguments = [
            "demo", "--records", "3", "--pictures", "0", "--database", "journal.sqlite", "--storage", "dir:a",
        ]
        let made = try await ChildProcess.run("journal", arguments: arguments, in: folder)
        #expect(made.status == 0, "\(made)")
        try await body(folder)
    }
}

/// Returns the files below a folder that contain a text.
func files(with text: String, in folder: URL) throws -> [String] {
    let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
    return names.filter { name in
        let data = try? Data(contentsOf: folder.appending(path: name))
        return data?.firstRange(of: Data(text.utf8)) != nil
    }
}
