import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

/// Books of recipes, and notes that may not lose their file. Each recipe owns two files.
@Suite("Files that go with their owners", .timeLimit(.minutes(1)))
struct OwnerTests {
    /// How the owner of the file `old` lets go of it. `new` is another file that nobody has.
    static let lettingGo = [
        "DELETE FROM recipe WHERE id = 1",
        "DELETE FROM recipe",
        "DELETE FROM book",
        "UPDATE recipe SET photoId = NULL",
        "UPDATE recipe SET photoId = :new WHERE id = 1",
        "REPLACE INTO recipe (id, title, photoId) VALUES (1, 'other', :new)",
        "REPLACE INTO recipe (id, title) VALUES (1, 'other')",
        "REPLACE INTO recipe (id, title) VALUES (9, 'TOAST')",
        "REPLACE INTO recipe (rowid, title) VALUES (1, 'other')",
        "UPDATE OR REPLACE recipe SET title = 'toast' WHERE id = 2",
        "UPDATE OR REPLACE recipe SET id = 1 WHERE id = 2",
        "INSERT INTO recipe (id, title, photoId) VALUES (1, 'x', :new) ON CONFLICT DO UPDATE SET photoId = excluded.photoId",
        "BEGIN; DELETE FROM recipe WHERE id = 1; UPDATE recipe SET photoId = NULL; COMMIT",
    ]

    /// What looks as if the owner let go of the file, and does not.
    static let keeping = [
        "UPDATE recipe SET title = 'other' WHERE id = 1",
        "UPDATE recipe SET photoId = photoId",
        "REPLACE INTO recipe (id, title, photoId) VALUES (1, 'other', :old)",
        "REPLACE INTO recipe (id, title, photoId) VALUES (9, 'TOAST', :old)",
        "INSERT OR IGNORE INTO recipe (id, title, photoId) VALUES (1, 'other', :new)",
        "INSERT INTO recipe (id, title) VALUES (1, 'x') ON CONFLICT DO UPDATE SET title = excluded.title",
        "UPDATE OR IGNORE recipe SET id = 1 WHERE id = 2",
        "BEGIN; UPDATE recipe SET photoId = NULL; UPDATE recipe SET photoId = :old WHERE id = 2; COMMIT",
        "BEGIN; DELETE FROM recipe; INSERT INTO recipe (title, drawingId) VALUES ('x', :old); COMMIT",
        "BEGIN; DELETE FROM recipe; ROLLBACK",
        "BEGIN; INSERT INTO note (fileId) VALUES (:old); DELETE FROM recipe; COMMIT",
    ]

    @Test("A file that its owner lets go of is deleted", arguments: lettingGo, [false, true])
    func letGo(sql: String, recursiveTriggers: Bool) async throws {
        try await withOwners { owners in
            try await owners.run(sql, recursiveTriggers)
            #expect(try await owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.file(owners.old.id) == nil)
            #expect(try owners.host.file(owners.new.id) != nil)
            #expect(try owners.host.filesInStore() == [owners.new.id])
            #expect(owners.storage.keys.map(\.rawValue) == [owners.new.key])
        }
    }

    @Test("A file that something still refers to stays", arguments: keeping, [false, true])
    func keep(sql: String, recursiveTriggers: Bool) async throws {
        try await withOwners { owners in
            try await owners.run(sql, recursiveTriggers)
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore() == [owners.old.id, owners.new.id])
            #expect(owners.storage.keys.count == 2)
            // What was not deleted then is not forgotten: it goes with its last owner.
            try await owners.host.database.write { db in
                try db.execute(sql: "DELETE FROM note; DELETE FROM recipe")
            }
            #expect(try await owners.lfs.waitForDeletions() == 0)
            let isReferred = sql.contains("INTO note")
            #expect(try owners.host.filesInStore() == (isReferred ? [owners.old.id, owners.new.id] : [owners.new.id]))
        }
    }

    @Test("What was let go while nothing ran, by another connection, goes at the next start")
    func nextStart() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            let other = try host.otherDatabase()
            try await withManager(host) { lfs in _ = try await Owners(host, lfs, storage) }
            try await other.write { db in try db.execute(sql: "DELETE FROM recipe") }
            try await withManager(host) { lfs in try await #expect(lfs.waitForDeletions() == 0) }
            #expect(try host.filesInStore().count == 1)
            try other.close()
        }
    }

    @Test("A table that is renamed goes on to own its files")
    func renamed() async throws {
        try await withOwners { owners in
            try await owners.host.database.write { db in
                try db.execute(sql: "ALTER TABLE recipe RENAME TO dish; UPDATE dish SET title = 'x' WHERE id = 1")
            }
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore().count == 2)
            try await owners.host.database.write { try $0.execute(sql: "DELETE FROM dish") }
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore() == [owners.new.id])
        }
    }

    @Test(
        "A table that was made anew without its triggers is noticed, not taken for empty",
        arguments: [
            "CREATE TABLE a AS SELECT * FROM recipe; DROP TABLE recipe; ALTER TABLE a RENAME TO recipe",
            "ALTER TABLE recipe RENAME COLUMN photoId TO pictureId",
        ])
    func madeAnew(sql: String) async throws {
        try await withHost { host in
            try await withManager(host) { lfs in _ = try await Owners(host, lfs, InMemoryStorage()) }
            try await host.database.write { try $0.execute(sql: sql) }
            #expect(
                await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
                    == .unsuitableOwner)
            try await host.database.write { db in
                try FileData.keptWithoutOwner("recipe", column: "photoId", in: db)
                try FileData.keptWithoutOwner("recipe", column: "drawingId", in: db)
            }
            try await withManager(host) { _ in }
        }
    }

    @Test("A table that is dropped owns nothing any more, and its files stay")
    func dropped() async throws {
        try await withOwners { owners in
            try await owners.host.database.write { try $0.execute(sql: "DROP TABLE recipe") }
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore().count == 2)
        }
    }

    @Test(
        "What cannot be an owner is refused",
        arguments: [("nothing", "photoId"), ("recipe", "nothing"), ("odd", "fileId")])
    func refused(table: String, column: String) async throws {
        try await withHost { host in
            try await host.database.write { db in
                try db.execute(sql: "CREATE TABLE odd (fileId TEXT, a TEXT); CREATE UNIQUE INDEX i ON odd(a || 'x')")
                let error = #expect(throws: LFSError.self) {
                    try FileData.deletedWithOwner(table, column: column, in: db)
                }
                #expect(error?.code == .unsuitableOwner)
            }
        }
    }

    private func withOwners(_ body: @escaping (Owners) async throws -> Void) async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in try await body(Owners(host, lfs, storage)) }
    }
}

/// A recipe that owns the file `old`, and a file `new` that nobody owns; both are uploaded.
private struct Owners {
    let host: TestHost
    let lfs: LFSManager
    let storage: InMemoryStorage
    let old: FileData
    let new: FileData

    init(_ host: TestHost, _ lfs: LFSManager, _ storage: InMemoryStorage) async throws {
        (self.host, self.lfs, self.storage) = (host, lfs, storage)
        let old = try await lfs.makeFile(from: .bytes(someBytes()))
        let new = try await lfs.makeFile(from: .bytes(someBytes()))
        (self.old, self.new) = (old, new)
        try await host.database.write { db in
            try db.execute(
                sql: """
                    DROP TABLE recipe;
                    CREATE TABLE book (id INTEGER PRIMARY KEY);
                    CREATE TABLE recipe (
                        id INTEGER PRIMARY KEY,
                        title TEXT UNIQUE COLLATE NOCASE,
                        bookId INTEGER REFERENCES book ON DELETE CASCADE,
                        photoId TEXT REFERENCES lfs_file ON DELETE SET NULL,
                        drawingId TEXT REFERENCES lfs_file ON DELETE SET NULL
                    );
                    CREATE TABLE note (fileId TEXT REFERENCES lfs_file DEFERRABLE INITIALLY DEFERRED);
                    INSERT INTO book VALUES (1);
                    """)
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
            try FileData.deletedWithOwner("recipe", column: "drawingId", in: db)
            // Again, as a later migration does.
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
            try old.insert(db)
            try new.insert(db)
            try db.execute(
                sql: "INSERT INTO recipe (id, title, bookId, photoId) VALUES (1, 'toast', 1, ?)", arguments: [old.id])
            try db.execute(sql: "INSERT INTO recipe (id, title) VALUES (2, 'soup')")
        }
        try await lfs.waitForUploads()
    }

    func run(_ sql: String, _ recursiveTriggers: Bool) async throws {
        let values = ["old": old.id, "new": new.id]
        try await host.database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers ? 1 : 0)")
            for statement in sql.split(separator: ";") {
                let used = values.filter { statement.contains(":\($0.key)") }
                try db.execute(sql: String(statement), arguments: StatementArguments(used))
            }
        }
    }
}
