import Foundation
import GRDB
import LFSWire

extension SyncValue {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(Array(data))
        }
    }

    /// Creates a value from a column of a row.
    ///
    /// - Parameter row: a row whose statement is still positioned at it, because the raw text is compared.
    /// - Returns: nil for a text that a `String` would cut off or repair.
    init?(_ row: Row, column: String) throws {
        let value: DatabaseValue = row[column]
        if case .string(let text) = value.storage {
            let isWhole = try row.withUnsafeData(named: column) { data in
                data.map { $0.elementsEqual(text.utf8) } ?? text.isEmpty
            }
            guard isWhole else { return nil }
        }
        self.init(value)
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let blob): Data(blob).databaseValue
        }
    }
}
