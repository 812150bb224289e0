import GRDB
import LFS

/// A row of a table with all its columns, as text. A row may have any values.
struct TableRow: Encodable, Sendable {
    struct Column: Encodable, Sendable {
        let name: String
        let value: String
    }

    /// The query that reads the row.
    let sql: String
    let table: String
    let columns: [Column]
    /// Indicates that the table has no row of the file.
    let isAbsent: Bool

    private static let maxLength = 300

    /// The tables of the library that have a row for a file, with the column of its id.
    private static let tables = [
        (name: FileData.databaseTableName, key: "id"), (name: Upload.databaseTableName, key: "fileID"),
    ]

    /// Returns the rows of a file, one for each table.
    static func all(of id: FileID, _ db: Database) throws -> [TableRow] {
        try tables.map { table in
            let query = "SELECT * FROM \(table.name) WHERE \(table.key) ="
            let row = try Row.fetchOne(db, sql: "\(query) ?", arguments: [id])
            let columns = row?.map { column, value in Column(name: column, value: text(value)) }
            return TableRow(
                sql: "\(query) '\(id)'", table: table.name, columns: columns ?? [], isAbsent: columns == nil)
        }
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "NULL"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text.count > maxLength ? text.prefix(maxLength) + "…" : text
        case .blob(let data): "\(data.count) bytes"
        }
    }
}
