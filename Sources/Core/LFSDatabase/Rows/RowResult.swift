package import GRDB
import LFSSystem

/// A row, or the error of an unreadable one, so that a page can continue after it.
package struct RowResult<Record: FetchableRecord>: FetchableRecord {
    /// The first column as stored. A page continues after it, or a statement finds an unreadable row by it.
    package let place: DatabaseValue
    package let record: Result<Record, TableError>

    /// The row, or nil if it cannot be read.
    package var readable: Record? {
        switch record {
        case .success(let record): record
        case .failure: nil
        }
    }

    /// The error of an unreadable row, or nil for a readable one.
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

/// A page of rows in the order of a column, and the start of the next page.
package struct RowPage<Element: Sendable>: Sendable {
    package let elements: [Element]
    /// The ordering column of the last row, or nil if there are no more rows.
    package let last: DatabaseValue?

    init(_ elements: [Element], last: DatabaseValue?) { (self.elements, self.last) = (elements, last) }
}

extension RowPage {
    /// Creates a page of rows whose first column orders them.
    init<Record>(_ rows: [RowResult<Record>]) where Element == RowResult<Record> {
        self.init(rows, last: rows.last?.place)
    }

    /// Creates a page of the values of a column, without those that are not file ids.
    init(ids values: [DatabaseValue]) where Element == FileID {
        self.init(values.compactMap(FileID.fromDatabaseValue), last: values.last)
    }
}
