import Foundation
import GRDB

/// What the table `uploader_storage` remembers of versions: how long they are kept, and the time that they age by.
struct VersionMemory: Sendable {
    /// Nil while nobody has said.
    var choice: KeepVersions?
    /// Whether another program has written a choice that means nothing: then all stay.
    var isUnusable = false
    var clock = VersionClock()

    static let schema = """
        -- How long old versions are kept, NULL while nobody has said, and the time that they age by, in seconds since
        -- 1970: see VersionClock.
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN keepVersions TEXT;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsBelieved REAL;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsLeapt REAL;
        """

    /// What holds: the choice, else that of all the time before there was one.
    var holding: KeepVersions { isUnusable ? .forever : choice ?? .none }

    static func fetch(_ db: Database) throws -> VersionMemory {
        var memory = VersionMemory()
        let sql = "SELECT keepVersions, versionsBelieved, versionsLeapt FROM \(DocumentSchema.ownTable)"
        guard let row = try Row.fetchOne(db, sql: sql) else { return memory }
        let text: DatabaseValue = row[0]
        memory.choice = String.fromDatabaseValue(text).flatMap { KeepVersions($0) }
        memory.isUnusable = !text.isNull && memory.choice == nil
        memory.clock = VersionClock(believed: VersionTable.time(row[1]), leapt: VersionTable.time(row[2]))
        return memory
    }

    /// Remembers how long versions are kept, those that are there as well.
    static func choose(_ choice: KeepVersions, _ db: Database) throws {
        guard try fetch(db).choice != choice else { return }
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET keepVersions = ?", arguments: [choice.text])
        try EntryTable.noteChange(db)
    }

    static func save(_ clock: VersionClock, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET versionsBelieved = ?, versionsLeapt = ?",
            arguments: [clock.believed?.timeIntervalSince1970, clock.leapt?.timeIntervalSince1970])
    }
}
