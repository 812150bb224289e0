import Foundation

/// Conversions of digests between hex, which this package uses, and base64, which header fields use.
package enum Base64 {
    /// Returns that many bytes as hex. nil for a checksum of checksums (`…-5`) and for any other invalid text.
    package static func hex(_ base64: String, byteCount: Int) -> String? {
        guard let bytes = Data(base64Encoded: base64), bytes.count == byteCount else { return nil }
        return Hex.text(bytes)
    }

    /// Returns the bytes of a SHA-256 as hex.
    package static func hex(_ base64: String) -> String? { hex(base64, byteCount: 32) }

    package static func text(hex: String) -> String? {
        Hex.bytes(hex).map { Data($0).base64EncodedString() }
    }
}
