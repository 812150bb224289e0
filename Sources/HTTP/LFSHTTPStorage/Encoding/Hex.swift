package import Foundation
import LFSSystem

/// Conversions between bytes and hex digits. It writes lowercase digits.
package enum Hex {
    package static func text(_ bytes: some ContiguousBytes) -> String { ContentHash.hex(of: bytes) }

    /// Returns the bytes, or nil for anything but pairs of hex digits.
    package static func bytes(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { digits in
            guard digits.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits.count / 2)
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }

    /// Returns the value of a digit in either case, or nil for any other byte.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
