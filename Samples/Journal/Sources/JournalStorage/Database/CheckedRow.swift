import Foundation
import GRDB

/// A row whose values may be anything, since other programs can write them. Reading it never traps.
struct CheckedRow {
    let row: Row
    let table: String

    init(_ row: Row, of table: String) { (self.row, self.table) = (row, table) }

    /// The table, and the id if the row has one.
    var name: String {
        let key: DatabaseValue? = row["id"]
        return "\(table) \(key.flatMap(String.fromDatabaseValue) ?? "without an id")"
    }

    func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        guard let value: Value = try optional(column) else { throw damaged(column) }
        return value
    }

    func optional<Value: DatabaseValueConvertible>(_ column: String) throws -> Value? {
        guard let stored: DatabaseValue = row[column] else { throw damaged(column) }
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw damaged(column) }
        return value
    }

    func id(_ column: String = "id") throws -> UUID {
        let text: String = try value(column)
        guard let id = UUID(text: text) else { throw damaged(column) }
        return id
    }

    func date(_ column: String) throws -> Date {
        guard let date = try optionalDate(column) else { throw damaged(column) }
        return date
    }

    func optionalDate(_ column: String) throws -> Date? {
        guard let milliseconds: Int = try optional(column) else { return nil }
        guard Timestamp.storable.contains(milliseconds) else { throw damaged(column) }
        return Date(millisecondsSince1970: milliseconds)
    }

    func damaged(_ column: String) -> FileStorageError {
        .decodingFailed(name: name, reason: "its column '\(column)' has an invalid value")
    }
}
