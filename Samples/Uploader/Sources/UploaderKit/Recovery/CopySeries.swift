import Foundation
import GRDB

/// The copies that one machine saves of a database. The columns `writer`, `savedCopy` and `startedCopy` of the table
/// `uploader_storage` record them.
///
/// A cloned machine, or a database that was restored next to the old one, has the same writer at first. The storage
/// reveals this: the newest copy of the writer was not saved by this database. The series then continues with a new id.
struct CopySeries: Sendable {
    /// The id of the writer: sixteen hexadecimal digits.
    let writer: String
    let time: CopyTime
    /// The time of the newest copy that another machine has saved since the last copy of this one.
    let other: CopyTime?
    /// True if this machine has not saved a copy before.
    let isFirst: Bool

    /// Records the name of a copy before the copy is made, so that the copy contains its own name.
    ///
    /// - Parameters:
    ///   - copies: the database's copies on the storage, the oldest first.
    ///   - date: the time of the new copy, unless the clock is behind the existing copies.
    static func begin(_ copies: [RecoveryCopies.Copy], at date: Date, _ db: Database) throws -> CopySeries {
        let sql = "SELECT writer, savedCopy, startedCopy FROM \(DocumentSchema.ownTable)"
        let row = try Row.fetchOne(db, sql: sql)
        var writer = row.flatMap { String.fromDatabaseValue($0[0]) }
        var saved = row.flatMap { String.fromDatabaseValue($0[1]) }
        let started = row.flatMap { String.fromDatabaseValue($0[2]) }
        if let last = copies.last(where: { $0.writer != nil && $0.writer == writer })?.time.name {
            // The upload of a failed or killed run may have arrived nevertheless.
            if last == started { saved = last }
            if last != saved { writer = nil }
        }
        let id = writer ?? Self.makeID()
        let time = CopyTime(date, after: copies.last?.time)
        let since = saved.flatMap { CopyTime(name: $0[...]) }
        let other = copies.last { copy in
            guard let since, copy.writer != nil, copy.writer != id else { return false }
            return copy.time > since
        }
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET writer = ?, savedCopy = ?, startedCopy = ?",
            arguments: [id, saved, time.name])
        return CopySeries(writer: id, time: time, other: other?.time, isFirst: saved == nil)
    }

    /// Records that the copy has arrived.
    func end(_ db: Database) throws {
        try db.execute(
            sql: "UPDATE \(DocumentSchema.ownTable) SET savedCopy = ? WHERE writer = ?", arguments: [time.name, writer])
    }

    private static func makeID() -> String {
        let digits = String(UInt64.random(in: 0...(.max)), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
