import LFSSystem

/// Percent-encoding of UTF-8 text (RFC 3986, section 2.1). Every byte except the unreserved characters (section 2.3)
/// becomes `%` and two uppercase hex digits.
package enum PercentEncoding {
    /// Encodes a path. Slashes are kept, and nothing is normalized: `//` and `..` are parts of a key.
    package static func path(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, keepingSlashes: true, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes the name or the value of a query parameter. Slashes are encoded too.
    package static func query(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, keepingSlashes: false, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the encoded text to the bytes.
    package static func append(_ text: String, keepingSlashes: Bool, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { text in
            bytes.reserveCapacity(bytes.count + text.count)
            for byte in text {
                if isUnreserved(byte) || (keepingSlashes && byte == UInt8(ascii: "/")) {
                    bytes.append(byte)
                } else {
                    bytes.append(UInt8(ascii: "%"))
                    bytes.append(hexDigit(byte >> 4))
                    bytes.append(hexDigit(byte & 15))
                }
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte)
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
