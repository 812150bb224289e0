import Foundation
import GRDB

/// The stored settings of versions in the table `uploader_storage`: the time for which they are kept, and their clock.
struct VersionMemory: Sendable {
    /// The user's choice. Nil before the first one.
    var choice: KeepVersions?
    /// True if another program has written an invalid choice. All versions stay then.
    var isUnusable = false
    var clock = VersionClock()

    static let schema = """
        -- How long old versions are kept, or NULL before a choice. The counted seconds, and the system time at the last
        -- reading, in seconds since 1970. See VersionClock.
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN keepVersions TEXT;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsAge REAL;
        ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN versionsSeen REAL;
        """

    /// The effective setting: the choice, or `none` without one. An unusable choice counts as `forever`.
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

    /// Stores the time for which versions are kept. It applies to existing versions as well.
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
