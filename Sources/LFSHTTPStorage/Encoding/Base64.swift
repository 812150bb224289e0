import Foundation

/// The two ways to write a digest: hex here, base64 in header fields.
package enum Base64 {
    /// So many bytes as hex; nil for a checksum over checksums (`…-5`) and for anything else.
    package static func hex(_ base64: String, byteCount: Int) -> String? {
        guard let bytes = Data(base64Encoded: base64), bytes.count == byteCount else { return nil }
        return Hex.text(bytes)
    }

    /// The bytes of a SHA-256 as hex.
    package static func hex(_ base64: String) -> String? { hex(base64, byteCount: 32) }

    package static func text(hex: String) -> String? {
        Hex.bytes(hex).map { Data($0).base64EncodedString() }
    }
}
