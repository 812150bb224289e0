/// A position among the changes of a scope: an `updateID` of the server, which is a UUID of version 7 in lowercase. The
/// positions of a scope have the same order as their texts.
package struct SyncPosition: Hashable, Sendable {
    /// The UUID's bytes, or nil before the first position.
    private let bytes: Bytes?

    /// Two numbers instead of a text, because each row has a position on the device and on the server.
    private struct Bytes: Hashable {
        var high: UInt64 = 0
        var low: UInt64 = 0
    }

    /// The position before the first change.
    package static let start = SyncPosition(bytes: nil)

    /// The number of characters of a position other than ``start``.
    package static let length = 36

    private init(bytes: Bytes?) { self.bytes = bytes }

    /// - Parameter text: a UUID, or an empty text for ``start``. The result is nil for any other text.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        guard let position = text.withUTF8({ SyncPosition(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = position
    }

    /// - Parameter text: as for ``init(_:)-(StringProtocol)``.
    package init?(_ text: UnsafeRawBufferPointer) {
        if text.isEmpty {
            self = .start
            return
        }
        guard text.count == Self.length else { return nil }
        var isValid = true
        func digits(_ range: Range<Int>, number: inout UInt64) {
            for index in range {
                let (decimal, letter) = (text[index] &- UInt8(ascii: "0"), text[index] &- UInt8(ascii: "a"))
                isValid = isValid && (decimal < 10 || letter < 6)
                number = number << 4 | UInt64(decimal < 10 ? decimal : letter &+ 10)
            }
        }
        var bytes = Bytes()
        digits(0..<8, number: &bytes.high)
        digits(9..<13, number: &bytes.high)
        digits(14..<18, number: &bytes.high)
        digits(19..<23, number: &bytes.low)
        digits(24..<36, number: &bytes.low)
        let dash = UInt8(ascii: "-")
        guard isValid, text[8] == dash, text[13] == dash, text[18] == dash, text[23] == dash else { return nil }
        self.bytes = bytes
    }

    /// The position as it is written in lines and stored in databases.
    package var text: String {
        guard let bytes else { return "" }
        return String(unsafeUninitializedCapacity: Self.length) { text in
            let digits = StaticString("0123456789abcdef").utf8Start
            var shift = 64
            for index in 0..<Self.length {
                switch index {
                case 8, 13, 18, 23: text[index] = UInt8(ascii: "-")
                default:
                    shift = shift == 0 ? 60 : shift - 4
                    text[index] = digits[Int((index < 18 ? bytes.high : bytes.low) >> shift & 15)]
                }
            }
            return Self.length
        }
    }
}

extension SyncPosition: CustomStringConvertible {
    package var description: String { text }
}

extension SyncPosition: Comparable {
    package static func < (left: SyncPosition, right: SyncPosition) -> Bool {
        switch (left.bytes, right.bytes) {
        case (_, nil): false
        case (nil, _): true
        case (let left?, let right?): (left.high, left.low) < (right.high, right.low)
        }
    }
}
