import Foundation
import GRDB

/// The copies that one machine saves of a database, in the columns `writer`, `savedCopy` and `startedCopy` of the table
/// `uploader_storage`.
///
/// A cloned machine and a database that was restored beside the old one have the same writer at first. The storage
/// shows it: the newest copy of the writer is none that this database has saved. Then it goes on under a new id.
struct CopySeries: Sendable {
    /// Sixteen hexadecimal digits.
    let writer: String
    let time: CopyTime
    /// The time of the newest copy that another machine has saved since this one saved the last time.
    let other: CopyTime?
    /// Whether this machine has saved none before.
    let isFirst: Bool

    /// Records the name of a copy before it is made, so that the copy has its own name in it.
    ///
    /// - Parameters:
    ///   - copies: those of the database that the storage has, the oldest first.
    ///   - date: the time of the new copy, if the clock is not behind the copies.
    static func begin(_ copies: [RecoveryCopies.Copy], at date: Date, _ db: Database) throws -> CopySeries {
        let sql = "SELECT writer, savedCopy, startedCopy FROM \(DocumentSchema.ownTable)"
        let row = try Row.fetchOne(db, sql: sql)
        var writer = row.flatMap { String.fromDatabaseValue($0[0]) }
        var saved = row.flatMap { String.fromDatabaseValue($0[1]) }
        let started = row.flatMap { String.fromDatabaseValue($0[2]) }
        if let last = copies.last(where: { $0.writer != nil && $0.writer == writer })?.time.name {
            // The upload of a run that failed or was killed may have arrived all the same.
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
