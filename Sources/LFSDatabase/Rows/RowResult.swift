package import GRDB
import LFSSystem

/// A row, or why it cannot be read, so that a page goes on behind it.
package struct RowResult<Record: FetchableRecord>: FetchableRecord {
    /// The first column as it is stored: what a page goes on after.
    package let place: DatabaseValue
    package let record: Result<Record, TableError>

    /// The row; nil when it cannot be read.
    package var readable: Record? {
        switch record {
        case .success(let record): record
        case .failure: nil
        }
    }

    /// Why it cannot be read; nil when it can.
    package var problem: TableError? {
        switch record {
        case .success: nil
        case .failure(let error): error
        }
    }

    package init(row: Row) throws {
        place = row[0]
        do {
            record = .success(try Record(row: row))
        } catch let error as TableError where error.code == .invalidRow {
            record = .failure(error)
        }
    }
}

extension RowResult: Sendable where Record: Sendable {}

/// Some rows in the order of a column, and where the next ones begin.
package struct RowPage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// The column of the last row; nil when there are no more.
    package let last: DatabaseValue?

    init(_ elements: [Element], last: DatabaseValue?) { (self.elements, self.last) = (elements, last) }
}

extension RowPage {
    /// Rows, each with the column that orders them as its first.
    init<Record>(_ rows: [RowResult<Record>]) where Element == RowResult<Record> {
        self.init(rows, last: rows.last?.place)
    }

    /// A column's values, without those that are no ids.
    init(ids values: [DatabaseValue]) where Element == FileID {
        self.init(values.compactMap(FileID.fromDatabaseValue), last: values.last)
    }
}
