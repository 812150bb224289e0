/// All columns of a row, or the changed ones, in the order in which they were received.
///
/// Consecutive rows usually have the same columns and then share the list of names.
package struct SyncRow: Sendable {
    /// The maximum number of columns, more than any table has.
    package static let columnLimit = 2_000

    package let columns: [String]
    /// The values, as many as columns.
    package let cells: SyncCells

    package init(_ values: [String: SyncValue] = [:]) {
        let sorted = values.sorted { $0.key < $1.key }
        columns = sorted.map(\.key)
        cells = SyncCells(sorted.lazy.map(\.value))
    }

    /// The values by column name.
    package var values: [String: SyncValue] {
        Dictionary(zip(columns, cells.values), uniquingKeysWith: { first, _ in first })
    }

    package subscript(column: String) -> SyncValue? { columns.firstIndex(of: column).map { cells[$0] } }

    /// Returns the text of a column, or nil if the column has no text.
    package func text(_ column: String) -> String? {
        if case .text(let text)? = self[column] { return text }
        return nil
    }

    /// Reads a row.
    ///
    /// - Parameter expected: the columns that the row probably has.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ scanner: inout JSONScanner, like expected: [String] = []) throws {
        var cells = SyncCells()
        cells.reserve(expected.count, byteCount: scanner.waitingCount)
        // The names, once they differ from the expected ones.
        var names: [String]?
        var known: Set<String> = []
        try scanner.object(expecting: expected) { scanner, name in
            guard cells.count < Self.columnLimit else {
                throw WireFailure(.tooLarge, message: "A row has more than \(Self.columnLimit) columns.")
            }
            if let name {
                if names == nil {
                    names = Array(expected.prefix(cells.count))
                    known = Set(expected.prefix(cells.count))
                }
                guard known.insert(name).inserted else {
                    throw WireFailure(.invalidRequest, message: "A row has a column twice.")
                }
                names?.append(name)
            }
            try scanner.value(to: &cells)
        }
        self.cells = cells
        columns = names ?? (cells.count == expected.count ? expected : Array(expected.prefix(cells.count)))
    }

    /// Writes the row as JSON, with the columns sorted by name.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, column) in zip(columns, cells.values).sorted(by: { $0.0 < $1.0 }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            SyncValue.write(column.0, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            column.1.write(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}

/// Equality that ignores the order of the columns.
extension SyncRow: Hashable {
    package static func == (left: SyncRow, right: SyncRow) -> Bool {
        left.columns == right.columns ? left.cells.values == right.cells.values : left.values == right.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
