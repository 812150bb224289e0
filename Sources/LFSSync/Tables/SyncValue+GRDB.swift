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

    /// - Parameter row: where its statement stands: a text is looked at as it lies there.
    /// - Returns: nil for a text that is cut off or mended on its way through a String.
    init?(_ row: Row, _ column: String) throws {
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
