/// The columns of a row, or those of them that have changed, in the order in which they came.
///
/// Rows that come one after the other mostly have the same columns: they share the list of their names.
package struct SyncRow: Sendable {
    /// More columns than any table has.
    package static let columnLimit = 2_000

    package let columns: [String]
    /// As many as columns.
    package let cells: SyncCells

    package init(_ values: [String: SyncValue] = [:]) {
        let sorted = values.sorted { $0.key < $1.key }
        (columns, cells) = (sorted.map(\.key), SyncCells(sorted.lazy.map(\.value)))
    }

    /// By the columns' names.
    package var values: [String: SyncValue] {
        Dictionary(zip(columns, cells.values), uniquingKeysWith: { first, _ in first })
    }

    package subscript(column: String) -> SyncValue? { columns.firstIndex(of: column).map { cells[$0] } }

    /// The text of a column; nil when it has none.
    package func text(_ column: String) -> String? {
        if case .text(let text)? = self[column] { return text }
        return nil
    }

    /// - Parameter expected: the columns that the row has most likely.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ scanner: inout JSONScanner, like expected: [String] = []) throws {
        var cells = SyncCells()
        cells.reserve(expected.count, byteCount: scanner.waitingCount)
        // The names, as soon as they are others than expected.
        var names: [String]?
        var known: Set<String> = []
        try scanner.object(expecting: expected) { scanner, name in
            guard cells.count < Self.columnLimit else {
                throw WireFailure(.tooLarge, "A row has more than \(Self.columnLimit) columns.")
            }
            if let name {
                if names == nil {
                    names = Array(expected.prefix(cells.count))
                    known = Set(expected.prefix(cells.count))
                }
                guard known.insert(name).inserted else {
                    throw WireFailure(.invalidRequest, "A row has a column twice.")
                }
                names?.append(name)
            }
            try scanner.value(to: &cells)
        }
        self.cells = cells
        columns = names ?? (cells.count == expected.count ? expected : Array(expected.prefix(cells.count)))
    }

    /// As JSON, with the columns in the order of their names.
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

/// The order of the columns means nothing.
extension SyncRow: Hashable {
    package static func == (left: SyncRow, right: SyncRow) -> Bool {
        left.columns == right.columns ? left.cells.values == right.cells.values : left.values == right.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
