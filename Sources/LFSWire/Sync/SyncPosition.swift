/// How far something has come in a scope: an `updateID` of the server, which is a UUID version 7 in lowercase. Those of
/// one scope ascend as texts do.
package struct SyncPosition: Hashable, Sendable {
    /// The UUID's bytes; nil before the first.
    private let bytes: Bytes?

    /// Two numbers and no text: each row has one, on both sides.
    private struct Bytes: Hashable {
        var high: UInt64 = 0
        var low: UInt64 = 0
    }

    /// Before the first.
    package static let start = SyncPosition(bytes: nil)

    /// Characters of a position that is not ``start``.
    package static let length = 36

    private init(bytes: Bytes?) { self.bytes = bytes }

    /// - Parameter text: of a UUID, or empty for ``start``; nil for anything else.
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
        func digits(_ range: Range<Int>, _ number: inout UInt64) {
            for index in range {
                let (decimal, letter) = (text[index] &- UInt8(ascii: "0"), text[index] &- UInt8(ascii: "a"))
                isValid = isValid && (decimal < 10 || letter < 6)
                number = number << 4 | UInt64(decimal < 10 ? decimal : letter &+ 10)
            }
        }
        var bytes = Bytes()
        digits(0..<8, &bytes.high)
        digits(9..<13, &bytes.high)
        digits(14..<18, &bytes.high)
        digits(19..<23, &bytes.low)
        digits(24..<36, &bytes.low)
        let dash = UInt8(ascii: "-")
        guard isValid, text[8] == dash, text[13] == dash, text[18] == dash, text[23] == dash else { return nil }
        self.bytes = bytes
    }

    /// As it stands in lines and in databases.
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
