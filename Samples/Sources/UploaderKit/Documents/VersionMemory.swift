import Foundation
import GRDB

/// What the table `uploader_storage` remembers of versions: how long they are kept, and the age that they go by.
struct VersionMemory: Sendable {
    /// Nil while nobody has said.
    var choice: KeepVersions?
    /// Whether another program has written a choice that means nothing: then all stay.
    var isUnusable = false
    var clock = VersionClock()

    static let schema = """
        -- How long old versions are kept, NULL while nobody has said; the seconds that were counted, and the clock at
        -- the last look, in seconds since 1970: see VersionClock.
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN keepVersions TEXT;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsAge REAL;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsSeen REAL;
        """

    /// What holds: the choice, else that of all the time before there was one.
    var holding: KeepVersions { isUnusable ? .forever : choice ?? .none }

    static func fetch(_ db: Database) throws -> VersionMemory {
        var memory = VersionMemory()
        let sql = "SELECT keepVersions, versionsAge, versionsSeen FROM \(DocumentSchema.ownTable)"
        guard let row = try Row.fetchOne(db, sql: sql) else { return memory }
        let text: DatabaseValue = row[0]
        memory.choice = String.fromDatabaseValue(text).flatMap { KeepVersions($0) }
        memory.isUnusable = !text.isNull && memory.choice == nil
        memory.clock = VersionClock(
            age: VersionClock.age(VersionTable.seconds(row[1])) ?? 0, seen: VersionTable.time(row[2]))
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
            sql: "UPDATE \(DocumentSchema.ownTable) SET versionsAge = ?, versionsSeen = ?",
            arguments: [clock.age, clock.seen?.timeIntervalSince1970])
    }
}
