import Foundation
package import GRDB

/// The name that a source gives an original: bytes, which nearly always are text. Two texts that Swift considers equal
/// (é composed or decomposed) are two originals.
package struct SourceID: Hashable, Sendable, DatabaseValueConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Hashes all bytes at once. As an array they would be hashed one by one.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// Text if the bytes are UTF-8 without a NUL, otherwise a blob of the exact bytes.
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
