import Foundation
package import GRDB
import LFSSystem

/// A row of an LFS table as untrusted input, because other programs and other devices may have written it. No value can
/// crash the process.
///
/// Each read throws ``TableError/Code/invalidRow``, which names the row, the column and the value.
package struct CheckedRow {
    private let row: Row
    private let table: String
    /// The column that identifies the row in a message.
    private let name: String

    package init(_ row: Row, of table: String, name: String = "id") {
        self.row = row
        self.table = table
        self.name = name
    }

    /// Returns the value of a column.
    package func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        do {
            return try row.decode(Value.self, forColumn: column)
        } catch let error as RowDecodingError {
            throw invalid(column, cause: error)
        }
    }

    /// Returns the value of a column if it is within a range, and throws otherwise.
    package func number<Value: DatabaseValueConvertible & Comparable>(
        _ column: String, in range: ClosedRange<Value>
    ) throws -> Value {
        let number: Value = try value(column)
        guard range.contains(number) else { throw invalid(column) }
        return number
    }

    package func invalid(_ column: String, cause: (any Error)? = nil) -> TableError {
        TableError(
            .invalidRow,
            message: """
                The row \(Self.words(stored(name))) of \(table) cannot be read: its \(column) is \
                \(Self.words(stored(column))). Another program has written it: correct it, or delete the row.
                """,
            fileID: FileID.fromDatabaseValue(stored(name)), cause: cause)
    }

    private func stored(_ column: String) -> DatabaseValue {
        (row[column] as DatabaseValue?) ?? .null
    }

    /// Returns a value as text for a message: short, and without control characters.
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
