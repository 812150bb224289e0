import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import TestSupport
import Testing

/// Tests with books of recipes, and with notes whose reference keeps a file. Each recipe owns two files.
@Suite("Ownership of files", .timeLimit(.minutes(10)))
struct OwnerTests {
    /// Statements after which the owner no longer has the file `old`. The file `new` has no owner.
    static let lettingGo = [
        "DELETE FROM recipe WHERE id = 1",
        "DELETE FROM recipe",
        "DELETE FROM book",
        "UPDATE recipe SET photoId = NULL",
        "UPDATE recipe SET photoId = :new WHERE id = 1",
        "REPLACE INTO recipe (id, title, photoId) VALUES (1, 'other', :new)",
        "REPLACE INTO recipe (id, title) VALUES (1, 'other')",
        "REPLACE INTO recipe (id, title) VALUES (9, 'TOAST')",
        "REPLACE INTO recipe (_rowid_, title) VALUES (1, 'other')",
        "UPDATE OR REPLACE recipe SET title = 'toast' WHERE id = 2",
        "UPDATE OR REPLACE recipe SET id = 1 WHERE id = 2",
        """
        INSERT INTO recipe (id, title, photoId) VALUES (1, 'x', :new)
        ON CONFLICT DO UPDATE SET photoId = excluded.photoId
        """,
        "BEGIN; DELETE FROM recipe WHERE id = 1; UPDATE recipe SET photoId = NULL; COMMIT",
        "UPDATE OR REPLACE recipe SET isActive = 1 WHERE id = 2",
        "UPDATE OR REPLACE recipe SET code = 'B' WHERE id = 2",
        "UPDATE OR REPLACE recipe SET mark = 'x' WHERE id = 2",
        "UPDATE recipe SET photoId = NULL, drawing = json_object('id', :old); UPDATE recipe SET drawing = NULL",
    ]

    /// Statements after which a record still refers to the file `old`.
    static let keeping = [
        "UPDATE recipe SET title = 'other' WHERE id = 1",
        "UPDATE recipe SET photoId = photoId",
        "REPLACE INTO recipe (id, title, photoId) VALUES (1, 'other', :old)",
        "REPLACE INTO recipe (id, title, photoId) VALUES (9, 'TOAST', :old)",
        "INSERT OR IGNORE INTO recipe (id, title, photoId) VALUES (1, 'other', :new)",
        "INSERT INTO recipe (id, title) VALUES (1, 'x') ON CONFLICT DO UPDATE SET title = excluded.title",
        "UPDATE OR IGNORE recipe SET id = 1 WHERE id = 2",
        "BEGIN; UPDATE recipe SET photoId = NULL; UPDATE recipe SET photoId = :old WHERE id = 2; COMMIT",
        "BEGIN; DELETE FROM recipe; INSERT INTO recipe (title, drawing) VALUES ('x', json_object('id', :old)); COMMIT",
        "BEGIN; DELETE FROM recipe; ROLLBACK",
        "BEGIN; INSERT INTO note (fileId) VALUES (:old); DELETE FROM recipe; COMMIT",
    ]

    @Test("A migration of the app that runs before those of LFS fails with `notMigrated`")
    func tooEarly() throws {
        let database = try DatabaseQueue()
        let error = try database.write { db in
            try db.execute(sql: "CREATE TABLE recipe (photoId TEXT)")
            return #expect(throws: LFSError.self) {
                try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
            }
        }
        #expect(error?.code == .notMigrated)
        #expect(error?.message.contains("registerLFSMigrations()") == true)
    }

    @Test("A table can get a second column that owns files independently")
    func secondColumn() async throws {
        try await withLFS { host, lfs in
            try await host.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE song (id INTEGER PRIMARY KEY, coverId TEXT REFERENCES lfs_file);
                        INSERT INTO song (id) VALUES (1)
                        """)
                try FileData.deletedWithOwner("song", column: "coverId", in: db)
                try db.execute(sql: "ALTER TABLE song ADD COLUMN recordingId TEXT REFERENCES lfs_file")
                try FileData.deletedWithOwner("song", column: "recordingId", in: db)
            }
            let (cover, recording) = (
                try await lfs.makeFile(from: .bytes([1])), try await lfs.makeFile(from: .bytes([2]))
            )
            try await host.database.write { db in
                try cover.insert(db)
                try recording.insert(db)
                try db.execute(
                    sql: "UPDATE song SET coverId = ?, recordingId = ?", arguments: [cover.id, recording.id])
            }
            try await host.database.write { try $0.execute(sql: "UPDATE song SET recordingId = NULL") }
            try await lfs.waitForDeletions()
            #expect(try host.file(recording.id) == nil)
            #expect(try host.file(cover.id) != nil)
            try await host.database.write { try $0.execute(sql: "DELETE FROM song") }
            try await lfs.waitForDeletions()
            #expect(try host.count("lfs_file") == 0)
        }
    }

    @Test("A file that its owner releases is deleted", arguments: lettingGo, [false, true])
    func letGo(sql: String, recursiveTriggers: Bool) async throws {
        try await withOwners { owners in
            try await owners.run(sql, recursiveTriggers: recursiveTriggers)
            #expect(try await owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.file(owners.old.id) == nil)
            #expect(try owners.host.file(owners.new.id) != nil)
            #expect(try owners.host.filesInStore() == [owners.new.id])
            #expect(owners.storage.keys.map(\.rawValue) == [owners.new.key])
        }
    }

    @Test("A file that a record still refers to stays", arguments: keeping, [false, true])
    func keep(sql: String, recursiveTriggers: Bool) async throws {
        try await withOwners { owners in
            try await owners.run(sql, recursiveTriggers: recursiveTriggers)
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore() == [owners.old.id, owners.new.id])
            #expect(owners.storage.keys.count == 2)
            // The file is not forgotten. It is deleted with its last owner.
            try await owners.host.database.write { db in
                try db.execute(sql: "DELETE FROM note; DELETE FROM recipe")
            }
            #expect(try await owners.lfs.waitForDeletions() == 0)
            let isReferred = sql.contains("INTO note")
            #expect(try owners.host.filesInStore() == (isReferred ? [owners.old.id, owners.new.id] : [owners.new.id]))
        }
    }

    @Test("A file that was released while no manager ran is deleted at the next start")
    func nextStart() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            let other = try host.otherDatabase()
            try await withManager(host) { lfs in _ = try await Owners(host, lfs: lfs, storage: storage) }
            try await other.write { db in try db.execute(sql: "DELETE FROM recipe") }
            try await withManager(host) { lfs in try await #expect(lfs.waitForDeletions() == 0) }
            #expect(try host.filesInStore().count == 1)
            try other.close()
        }
    }

    @Test("Owners whose names are ambiguous when joined are kept apart")
    func namesThatRunTogether() async throws {
        try await withOwners { owners in
            let old = owners.old.id
            try await owners.host.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE shop (item_photo TEXT);
                        CREATE TABLE shop_item (photo TEXT);
                        CREATE TEMP TABLE shop (item_photo TEXT);
                        """)
                try FileData.deletedWithOwner("shop", column: "item_photo", in: db)
                try FileData.deletedWithOwner("shop_item", column: "photo", in: db)
                try db.execute(sql: "INSERT INTO main.shop VALUES (?); DELETE FROM recipe", arguments: [old])
                try db.execute(sql: "INSERT INTO shop_item VALUES (?); DELETE FROM shop_item", arguments: [old])
            }
            try await owners.lfs.waitForDeletions()
            // The other owner still has the file, and a temporary table of the same name is a different table.
            #expect(try owners.host.file(old) != nil)
            try await owners.host.database.write { db in try db.execute(sql: "DELETE FROM main.shop") }
            try await #expect(owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.file(old) == nil)
        }
    }

    @Test("A value in an owner's column that is not a file's id is ignored")
    func noIDs() async throws {
        try await withOwners { owners in
            try await owners.host.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE odd (fileId);
                        """)
                try FileData.deletedWithOwner("odd", column: "fileId", in: db)
                try db.execute(
                    sql: "INSERT INTO odd VALUES (x'0102'), (7), (1.5), (NULL), ('a' || char(0) || 'b'), ('nothing')")
                try db.execute(sql: "DELETE FROM odd")
            }
            try await #expect(owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.count("lfs_disowned") == 0)
            #expect(try owners.host.filesInStore().count == 2)
        }
    }

    @Test("A file whose deletion makes a trigger of the app fail blocks no others")
    func failingTrigger() async throws {
        try await withOwners { owners in
            let (old, new) = (owners.old.id, owners.new.id)
            try await owners.host.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER app_deletes BEFORE DELETE ON lfs_file WHEN OLD.id = '\(old)'
                        BEGIN SELECT json('no JSON'); END
                        """)
                try db.execute(sql: "UPDATE recipe SET photoId = ? WHERE id = 2", arguments: [new])
                try db.execute(sql: "DELETE FROM recipe")
            }
            try await #expect(owners.lfs.waitForDeletions() == 1)
            #expect(try owners.host.filesInStore() == [old])
            #expect(try owners.host.count("lfs_disowned WHERE attempts = 1") == 1)
        }
    }

    @Test(
        "A file that the database refuses to delete blocks no others and is deleted later",
        arguments: ["", "DEFERRABLE INITIALLY DEFERRED"])
    func refusedByTheDatabase(deferred: String) async throws {
        try await withOwners { owners in
            let (old, new) = (owners.old.id, owners.new.id)
            try await owners.host.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE thumb (id INTEGER PRIMARY KEY, fileId TEXT REFERENCES lfs_file ON DELETE CASCADE);
                        CREATE TABLE comment (thumbId INTEGER REFERENCES thumb \(deferred));
                        """)
                try db.execute(sql: "INSERT INTO thumb VALUES (1, ?); INSERT INTO comment VALUES (1)", arguments: [old])
                try db.execute(sql: "DELETE FROM recipe; DELETE FROM lfs_file WHERE id = ?", arguments: [new])
            }
            try await #expect(owners.lfs.waitForDeletions() == 1)
            #expect(try owners.host.filesInStore() == [old])
            #expect(owners.storage.keys.map(\.rawValue) == [owners.old.key])
            try await owners.host.database.write { try $0.execute(sql: "DELETE FROM comment") }
            try await #expect(owners.lfs.retryDeletions() == 1)
            try await #expect(owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.filesInStore().isEmpty)
        }
    }

    @Test("An owner can be registered after a rename, with any letter case, and removed")
    func namedAgain() async throws {
        try await withOwners { owners in
            try await owners.host.database.write { db in
                try FileData.deletedWithOwner("RECIPE", column: "PhotoID", in: db)
                try db.execute(
                    sql: """
                        ALTER TABLE recipe RENAME TO dish;
                        ALTER TABLE dish RENAME COLUMN photoId TO pictureId;
                        CREATE TABLE recipe (photoId TEXT);
                        """)
                try FileData.deletedWithOwner("dish", column: "pictureId", in: db)
                try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
                #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_owner") == 3)
                try FileData.keptWithoutOwner("DISH", column: "pictureId", in: db)
                #expect(throws: LFSError.self) { try FileData.keptWithoutOwner("dish", column: "pictureId", in: db) }
                try db.execute(sql: "DELETE FROM dish")
            }
            try await #expect(owners.lfs.waitForDeletions() == 0)
            // The test waits, because the uploads may end before the files move into the store.
            try await yield(while: owners.host.filesInStore().count < 2)
        }
    }

    @Test("Removing an owner keeps files that a trigger noted and no row released")
    func givenUp() async throws {
        try await withOwners { owners in
            try await owners.host.database.write { db in
                // A trigger that runs before the statement must assume that the row may be replaced by this one.
                try db.execute(sql: "INSERT OR IGNORE INTO recipe (id) VALUES (1)")
                try #expect(OwnerlessFileTable.count(db) == 1)
                try FileData.keptWithoutOwner("recipe", column: "photoId", in: db)
                try db.execute(sql: "DELETE FROM recipe")
            }
            try await owners.lfs.waitForDeletions()
            try await yield(while: owners.host.filesInStore().count < 2)
            #expect(try owners.host.file(owners.old.id) != nil)
        }
    }

    @Test("A renamed table still owns its files")
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
        "A table that was recreated without its triggers makes opening fail",
        arguments: [
            "CREATE TABLE a AS SELECT * FROM recipe; DROP TABLE recipe; ALTER TABLE a RENAME TO recipe",
            "ALTER TABLE recipe RENAME COLUMN photoId TO pictureId",
        ])
    func madeAnew(sql: String) async throws {
        try await withHost { host in
            try await withManager(host) { lfs in _ = try await Owners(host, lfs: lfs, storage: InMemoryStorage()) }
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

    @Test("A dropped table owns nothing, and its files stay")
    func dropped() async throws {
        try await withOwners { owners in
            // An upload may end before its file has moved into the store.
            try await yield(while: owners.host.filesInStore().count < 2)
            try await owners.host.database.write { try $0.execute(sql: "DROP TABLE recipe") }
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore().count == 2)
        }
    }

    @Test("A column without files can be dropped, and its released files are deleted")
    func droppedColumn() async throws {
        try await withOwners { owners in
            let drop = "ALTER TABLE recipe DROP COLUMN photoId"
            let refusal = await #expect(throws: DatabaseError.self) {
                try await owners.host.database.write { try $0.execute(sql: drop) }
            }
            #expect(refusal?.message?.contains("lfs_owner_") == true)
            try await owners.host.database.write { db in
                try db.execute(sql: "UPDATE recipe SET photoId = NULL")
                try FileData.keptWithoutOwner("recipe", column: "photoId", in: db)
                try db.execute(sql: drop)
            }
            try await #expect(owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.filesInStore() == [owners.new.id])
        }
    }

    @Test("Without foreign keys a referenced file can be deleted, but not by its owner")
    func withoutForeignKeys() async throws {
        try await withOwners { owners in
            try await owners.host.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF")
                try db.execute(sql: "INSERT INTO note (fileId) VALUES (?)", arguments: [owners.old.id])
                try db.execute(sql: "DELETE FROM recipe")
            }
            try await owners.lfs.waitForDeletions()
            #expect(try owners.host.filesInStore() == [owners.old.id, owners.new.id])
            try await owners.host.database.write { db in
                _ = try owners.old.delete(db)
                #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM note") == 1)
            }
            try await #expect(owners.lfs.waitForDeletions() == 0)
            #expect(try owners.host.filesInStore() == [owners.new.id])
            #expect(await errorCode { _ = try await owners.lfs.contents(of: owners.old) } == .unknownFile)
        }
    }

    @Test(
        "An unsuitable table or column is refused as an owner",
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
        try await withLFS(storage: storage) { host, lfs in try await body(Owners(host, lfs: lfs, storage: storage)) }
    }
}
