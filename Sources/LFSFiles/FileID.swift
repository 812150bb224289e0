package import Foundation

/// The name of one file everywhere: UUID version 7 in lowercase text (RFC 9562, section 5.7).
///
/// It is made here and never from outside text, so it is safe as a file name and as part of an object key; text that
/// comes from a database is checked before it becomes one.
package struct FileID: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// The id that a text stands for, nil when the text is not a lowercase UUID.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            let isHexDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            guard isDash ? byte == 0x2D : isHexDigit else { return nil }
        }
        self.text = text
    }

    /// A new id that sorts after those of earlier milliseconds.
    package static func make(at time: Date = Date()) -> FileID {
        let milliseconds = UInt64(max(0, time.timeIntervalSince1970 * 1_000))
        let high = milliseconds << 16 | 0x7000 | UInt64.random(in: 0...0xFFF)
        let low = 0x8000_0000_0000_0000 | UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF)
        return FileID(high: high, low: low)
    }

    /// When the id was made, in milliseconds since 1970.
    package var milliseconds: Int64 {
        Int64(text.prefix(8) + text.dropFirst(9).prefix(4), radix: 16) ?? 0
    }

    /// Whether it is of version 7, so that ``milliseconds`` is the time at which it was made.
    package var tellsTime: Bool { text[text.index(text.startIndex, offsetBy: 14)] == "7" }

    /// The id as a number, a quarter of the size of its text.
    package struct Bits: Hashable, Comparable, Sendable {
        let high: UInt64
        let low: UInt64

        package static func < (left: Bits, right: Bits) -> Bool {
            (left.high, left.low) < (right.high, right.low)
        }
    }

    package var bits: Bits {
        var (high, low): (UInt64, UInt64) = (0, 0)
        for byte in text.utf8 where byte != 0x2D {
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(byte < 0x40 ? byte - 0x30 : byte - 0x57)
        }
        return Bits(high: high, low: low)
    }

    package init(_ bits: Bits) { self.init(high: bits.high, low: bits.low) }

    private init(high: UInt64, low: UInt64) {
        let digits = Self.hex(high) + Self.hex(low)
        let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { String(digits[$0.0..<$0.1]) }
        self.init(unchecked: parts.joined(separator: "-"))
    }

    private init(unchecked text: String) { self.text = text }

    private static func hex(_ number: UInt64) -> [Character] {
        let digits = Array(String(number, radix: 16))
        return Array(repeating: "0", count: 16 - digits.count) + digits
    }
}
