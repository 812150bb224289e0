import Foundation
package import GRDB
import LFSSystem

/// A row of one of our tables as input: other programs write them, and other devices do. Nothing in it ends the
/// process.
///
/// Every read throws ``TableError/Code/invalidRow`` with the name of the row, of the column and of what stands there.
package struct CheckedRow {
    private let row: Row
    private let table: String
    /// The column that names the row in a message.
    private let name: String

    package init(_ row: Row, of table: String, name: String = "id") {
        (self.row, self.table, self.name) = (row, table, name)
    }

    /// The value of a column.
    package func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        do {
            return try row.decode(Value.self, forColumn: column)
        } catch let error as RowDecodingError {
            throw invalid(column, error)
        }
    }

    /// The value of a column, if it is within a range.
    package func number<Value: DatabaseValueConvertible & Comparable>(
        _ column: String, in range: ClosedRange<Value>
    ) throws -> Value {
        let number: Value = try value(column)
        guard range.contains(number) else { throw invalid(column) }
        return number
    }

    package func invalid(_ column: String, _ cause: (any Error)? = nil) -> TableError {
        TableError(
            .invalidRow,
            """
            The row \(Self.words(stored(name))) of \(table) cannot be read: its \(column) is \
            \(Self.words(stored(column))). Another program has written it: correct it, or delete the row.
            """,
            fileID: FileID.fromDatabaseValue(stored(name)), cause: cause)
    }

    private func stored(_ column: String) -> DatabaseValue {
        (row[column] as DatabaseValue?) ?? .null
    }

    /// What stands in a column, fit for a message: short, and without control characters.
    private static func words(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "NULL"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): String(reflecting: String(text.prefix(60)))
        case .blob(let bytes): "a blob of \(bytes.count) bytes"
        }
    }
}
