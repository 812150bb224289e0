import GRDB

/// The tables of `cache.sqlite`. The schema has no migrations. A cache of another version is replaced by an empty one.
enum CacheSchema {
    /// The value of `PRAGMA user_version`.
    static let version = 2

    static func create(_ db: Database, _ identity: CacheIdentity) throws {
        try db.execute(sql: tables)
        try db.execute(
            sql: "INSERT INTO state (id, databaseID, lastReset) VALUES (1, ?, ?)",
            arguments: [identity.databaseID, identity.lastReset])
        try db.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// The state of a database file.
    enum Lookup: Equatable {
        case new
        case current(CacheIdentity)
        /// The schema has another version.
        case unknown
    }

    static func find(_ db: Database) throws -> Lookup {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if version == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 { return .new }
        guard version == Self.version,
            let row = try Row.fetchOne(db, sql: "SELECT databaseID, lastReset FROM state WHERE id = 1"),
            let id = String.fromDatabaseValue(row["databaseID"]), let reset = Int64.fromDatabaseValue(row["lastReset"])
        else { return .unknown }
        return .current(CacheIdentity(databaseID: id, lastReset: reset))
    }

    /// Reserves the next numbers that order entries by their last use.
    ///
    /// - Returns: the last of these numbers.
    static func takeTicks(_ count: Int, _ db: Database) throws -> Int64 {
        try db.execute(sql: "UPDATE state SET tick = tick + ?", arguments: [count])
        return try Int64.fetchOne(db, sql: "SELECT tick FROM state") ?? 0
    }

    /// Names and tags are blobs, so that SQLite compares them byte by byte and returns any bytes unchanged.
    private static let tables = """
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            databaseID TEXT NOT NULL,
            lastReset INTEGER NOT NULL,
            tick INTEGER NOT NULL DEFAULT 0
        );

        CREATE TABLE entry (
            id INTEGER PRIMARY KEY,
            kind BLOB NOT NULL,
            name BLOB NOT NULL,
            byteCount INTEGER NOT NULL,
            -- The checksum of kind, name, tags and content.
            checksum INTEGER NOT NULL,
            -- The number of the last use. The smallest number of a kind is evicted first.
            used INTEGER NOT NULL,
            -- The id in the name of the file, if the content is in a file.
            file TEXT,
            content BLOB,
            UNIQUE (kind, name)
        );
        -- Includes the byte count, so that neither a sum nor an eviction reads content.
        CREATE INDEX entry_used ON entry(kind, used, byteCount);
        CREATE INDEX entry_file ON entry(file) WHERE file IS NOT NULL;

        CREATE TABLE tag (
            tag BLOB NOT NULL,
            entryID INTEGER NOT NULL,
            PRIMARY KEY (tag, entryID)
        ) WITHOUT ROWID;
        CREATE INDEX tag_entry ON tag(entryID);

        -- The number of removals by each opening of the cache.
        CREATE TABLE removal (
            opening TEXT PRIMARY KEY NOT NULL,
            count INTEGER NOT NULL
        ) WITHOUT ROWID;

        -- The number of entries and bytes of each kind.
        CREATE TABLE total (
            kind BLOB PRIMARY KEY NOT NULL,
            count INTEGER NOT NULL,
            byteCount INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TRIGGER entry_added AFTER INSERT ON entry
        BEGIN
            INSERT INTO total (kind, count, byteCount) VALUES (NEW.kind, 1, NEW.byteCount)
            ON CONFLICT (kind) DO UPDATE SET count = count + 1, byteCount = byteCount + NEW.byteCount;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entry
        BEGIN
            UPDATE total SET count = count - 1, byteCount = byteCount - OLD.byteCount WHERE kind = OLD.kind;
            DELETE FROM tag WHERE entryID = OLD.id;
        END;
        """
}
