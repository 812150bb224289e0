import Foundation
import GRDB

/// A row of one of our tables as input: other programs write them, and other devices do. Nothing in it ends the process.
///
/// Every read throws ``LFSError/Code/invalidRow`` with the name of the row, of the column and of what stands there.
struct CheckedRow {
    let row: Row
    let table: String
    /// The column that names the row in a message.
    var name = "id"

    /// The value of a column.
    func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        do {
            return try row.decode(Value.self, forColumn: column)
        } catch let error as RowDecodingError {
            throw invalid(column, error)
        }
    }

    /// The value of a column, if it is within a range.
    func number<Value: DatabaseValueConvertible & Comparable>(
        _ column: String, in range: ClosedRange<Value>
    ) throws -> Value {
        let number: Value = try value(column)
        guard range.contains(number) else { throw invalid(column) }
        return number
    }

    func invalid(_ column: String, _ cause: (any Error)? = nil) -> LFSError {
        let id = String.fromDatabaseValue(stored(name))
        return LFSError(
            .invalidRow,
            "The row \(Self.words(stored(name))) of \(table) cannot be read: its \(column) is \(Self.words(stored(column))). Another program has written it: correct it, or delete the row.",
            fileID: id, cause: cause)
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

/// A row, or why it cannot be read, so that a page goes on behind it.
struct RowResult<Record: FetchableRecord>: FetchableRecord {
    /// The first column as it is stored: what a page goes on after.
    let place: DatabaseValue
    let record: Result<Record, LFSError>

    /// The row; nil when it cannot be read.
    var readable: Record? {
        switch record {
        case .success(let record): record
        case .failure: nil
        }
    }

    /// Why it cannot be read; nil when it can.
    var problem: LFSError? {
        switch record {
        case .success: nil
        case .failure(let error): error
        }
    }

    init(row: Row) throws {
        place = row[0]
        do {
            record = .success(try Record(row: row))
        } catch let error as LFSError where error.code == .invalidRow {
            record = .failure(error)
        }
    }
}

extension RowResult: Sendable where Record: Sendable {}

extension FileData {
    /// The largest size that a row may name, a pebibyte: sums of many fit into 64 bits.
    static let largestByteCount: Int64 = 1 << 50
    /// From the year 0 to the end of the year 9999, as SQLite's own functions have it.
    static let earliestDate = Date(timeIntervalSince1970: -62_167_219_200)
    static let latestDate = Date(timeIntervalSince1970: 253_402_300_799)
}
