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
        let digits = hex(high) + hex(low)
        let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { String(digits[$0.0..<$0.1]) }
        return FileID(unchecked: parts.joined(separator: "-"))
    }

    /// When the id was made, in milliseconds since 1970.
    package var milliseconds: Int64 {
        Int64(text.prefix(8) + text.dropFirst(9).prefix(4), radix: 16) ?? 0
    }

    /// Whether it is of version 7, so that ``milliseconds`` is the time at which it was made.
    package var tellsTime: Bool { text[text.index(text.startIndex, offsetBy: 14)] == "7" }

    private init(unchecked text: String) { self.text = text }

    private static func hex(_ number: UInt64) -> [Character] {
        let digits = Array(String(number, radix: 16))
        return Array(repeating: "0", count: 16 - digits.count) + digits
    }
}
