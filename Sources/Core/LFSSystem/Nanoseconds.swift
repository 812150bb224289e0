/// A number of nanoseconds that can represent every time of a file system. 64 bits cover only the years 1677 to 2262.
///
/// It stores two words instead of an `Int128`, which is aligned to 16 bytes. With a stored `Int128`, programs built
/// with Swift 6.3 crashed in asynchronous functions.
package struct Nanoseconds: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    private let high: Int64
    private let low: UInt64

    package init(_ value: Int128) {
        high = Int64(truncatingIfNeeded: value >> 64)
        low = UInt64(truncatingIfNeeded: value)
    }

    package init(integerLiteral value: Int64) { self.init(Int128(value)) }

    package var value: Int128 { Int128(high) << 64 | Int128(low) }

    package var description: String { "\(value)" }

    package static func < (left: Nanoseconds, right: Nanoseconds) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    package static func - (left: Nanoseconds, right: Nanoseconds) -> Nanoseconds {
        Nanoseconds(left.value - right.value)
    }
}
