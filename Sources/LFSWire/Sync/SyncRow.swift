/// The columns of a row, or those of them that have changed, in the order in which they came.
///
/// Rows that come one after the other mostly have the same columns: they share the list of their names.
package struct SyncRow: Sendable {
    /// More columns than any table has.
    package static let columnLimit = 2_000

    package let columns: [String]
    private let cells: [SyncValue]

    package init(_ values: [String: SyncValue] = [:]) {
        let sorted = values.sorted { $0.key < $1.key }
        (columns, cells) = (sorted.map(\.key), sorted.map(\.value))
    }

    /// By the columns' names.
    package var values: [String: SyncValue] {
        Dictionary(zip(columns, cells), uniquingKeysWith: { first, _ in first })
    }

    package subscript(column: String) -> SyncValue? { columns.firstIndex(of: column).map { cells[$0] } }

    /// - Parameter likely: where the column is looked for first.
    package func value(of column: String, at likely: Int) -> SyncValue? {
        columns.indices.contains(likely) && columns[likely] == column ? cells[likely] : self[column]
    }

    /// The text of a column; nil when it has none.
    package func text(_ column: String) -> String? {
        if case .text(let text)? = self[column] { return text }
        return nil
    }

    /// - Parameter expected: the columns that the row has most likely.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ scanner: inout JSONScanner, like expected: [String] = []) throws {
        var cells: [SyncValue] = []
        cells.reserveCapacity(expected.count)
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
            cells.append(try scanner.value())
        }
        self.cells = cells
        columns = names ?? (cells.count == expected.count ? expected : Array(expected.prefix(cells.count)))
    }

    /// As JSON, with the columns in the order of their names.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, column) in zip(columns, cells).sorted(by: { $0.0 < $1.0 }).enumerated() {
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
        left.columns == right.columns ? left.cells == right.cells : left.values == right.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
