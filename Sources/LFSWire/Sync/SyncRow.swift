/// The columns of a row, or those of them that have changed.
package struct SyncRow: Hashable, Sendable {
    /// More columns than any table has.
    package static let columnLimit = 2_000

    package var values: [String: SyncValue]

    package init(_ values: [String: SyncValue] = [:]) { self.values = values }

    package subscript(column: String) -> SyncValue? { values[column] }

    /// The text of a column; nil when it has none.
    package func text(_ column: String) -> String? {
        if case .text(let text)? = values[column] { return text }
        return nil
    }

    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ scanner: inout JSONScanner) throws {
        var values: [String: SyncValue] = [:]
        try scanner.object { scanner, name in
            guard values.count < Self.columnLimit else {
                throw WireFailure(.tooLarge, "A row has more than \(Self.columnLimit) columns.")
            }
            let value = try scanner.value()
            guard values.updateValue(value, forKey: name) == nil else {
                throw WireFailure(.invalidRequest, "A row has a column twice.")
            }
        }
        self.values = values
    }

    /// As JSON, with the columns in the order of their names.
    package func write(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, column) in values.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            SyncValue.write(column.key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            column.value.write(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
