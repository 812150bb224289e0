/// A value of a row in a message, as SQLite stores it. A BLOB is written as `{"hex": "…"}`, and so is an invalid text.
/// An infinite number is written as `{"real": "Infinity"}`.
package enum SyncValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension SyncValue {
    /// Appends the value as JSON.
    package func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .integer(let value): bytes.append(contentsOf: String(value).utf8)
        case .real(let value): Self.write(value, to: &bytes)
        case .text(let text): Self.write(text, to: &bytes)
        case .blob(let blob):
            bytes.append(contentsOf: #"{"hex":""#.utf8)
            for byte in blob {
                bytes.append(Self.digits[Int(byte >> 4)])
                bytes.append(Self.digits[Int(byte & 15)])
            }
            bytes.append(contentsOf: #""}"#.utf8)
        }
    }

    private static func write(_ value: Double, to bytes: inout [UInt8]) {
        if value.isNaN {
            bytes.append(contentsOf: "null".utf8)
        } else if value.isInfinite {
            bytes.append(contentsOf: #"{"real":"\#(value < 0 ? "-" : "")Infinity"}"#.utf8)
        } else {
            // The shortest text that yields the same number. It has a point, so that the number stays a REAL.
            bytes.append(contentsOf: "\(value)".utf8)
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Appends a text as JSON.
    package static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x20...: bytes.append(byte)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            default:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
