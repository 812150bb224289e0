/// Text rows with aligned columns: the first to the left, the others to the right.
package enum TextTable {
    /// - Parameter rows: rows that all have as many cells as the first one.
    package static func lines(_ rows: [[String]]) -> [String] {
        let columns = rows.first?.indices ?? 0..<0
        let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            columns.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }.joined(separator: "  ")
        }
    }
}
