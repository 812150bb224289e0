import GRDB
import LFS
import LFSStorage
import TestSupport

/// A recipe that owns the file `old`, and a file `new` without an owner. Both are uploaded.
struct Owners {
    let host: TestHost
    let lfs: LFSManager
    let storage: InMemoryStorage
    let old: FileData
    let new: FileData

    init(_ host: TestHost, lfs: LFSManager, storage: InMemoryStorage) async throws {
        self.host = host
        self.lfs = lfs
        self.storage = storage
        let old = try await lfs.makeFile(from: .bytes(someBytes()))
        let new = try await lfs.makeFile(from: .bytes(someBytes()))
        self.old = old
        self.new = new
        try await host.database.write { db in
            try db.execute(
                sql: """
                    DROP TABLE recipe;
                    CREATE TABLE book (id INTEGER PRIMARY KEY);
                    CREATE TABLE recipe (
                        rowid TEXT,
                        id INTEGER PRIMARY KEY,
                        title TEXT UNIQUE COLLATE NOCASE,
                        slot TEXT DEFAULT 's',
                        isActive INTEGER,
                        code TEXT COLLATE NOCASE,
                        mark TEXT,
                        bookId INTEGER REFERENCES book ON DELETE CASCADE,
                        photoId TEXT REFERENCES lfs_file ON DELETE SET NULL,
                        drawing TEXT,
                        drawingId TEXT GENERATED ALWAYS AS (json_extract(drawing, '$.id'))
                    );
                    CREATE UNIQUE INDEX active ON recipe(slot) WHERE isActive = 1;
                    CREATE UNIQUE INDEX exact ON recipe(code COLLATE BINARY);
                    CREATE UNIQUE INDEX marks ON recipe(slot, lower(mark));
                    CREATE TABLE note (fileId TEXT REFERENCES lfs_file DEFERRABLE INITIALLY DEFERRED);
                    INSERT INTO book VALUES (1);
                    """)
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
            try FileData.deletedWithOwner("recipe", column: "drawingId", in: db)
            // Registers the owner again, as a later migration does.
            try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
            try old.insert(db)
            try new.insert(db)
            try db.execute(
                sql: """
                    INSERT INTO recipe (id, title, bookId, isActive, code, mark, photoId)
                    VALUES (1, 'toast', 1, 1, 'B', 'X', ?)
                    """,
                arguments: [old.id])
            try db.execute(sql: "INSERT INTO recipe (id, title, isActive, code, mark) VALUES (2, 'soup', 0, 'b', 'y')")
        }
        try await lfs.waitForUploads()
    }

    func run(_ sql: String, recursiveTriggers: Bool) async throws {
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
