import Foundation
package import GRDB

/// What a source calls an original: bytes, which are text nearly always. Two texts that Swift holds for equal (é
/// composed or not) are two originals.
package struct SourceID: Hashable, Sendable, DatabaseValueConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// All bytes at once: as an array they would go in one by one.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// Text where it is text without a NUL, a blob of the exact bytes where it is not.
    package var databaseValue: DatabaseValue {
        if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) { return text.databaseValue }
        return bytes.withUnsafeBytes { Data($0) }.databaseValue
    }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> SourceID? {
        switch value.storage {
        case .string(let text): SourceID(bytes: Array(text.utf8))
        case .blob(let data): SourceID(bytes: Array(data))
        default: nil
        }
    }
}
