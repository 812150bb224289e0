package import struct Foundation.Date

/// The unique id of a file: a UUID version 7 in lowercase text (RFC 9562, section 5.7).
///
/// An id is either created by this type or parsed from a lowercase UUID, so it is safe as a file name and as part of an
/// object key. Text from outside is checked once, when it becomes an id.
public struct FileID: Hashable, Sendable, CustomStringConvertible {
    /// The id as a number. It takes a quarter of the memory of the text, and is compared and hashed directly.
    package let bits: Bits

    package init(_ bits: Bits) { self.bits = bits }

    /// The id in lowercase text.
    public var description: String { text }

    /// Parses a lowercase UUID. Returns nil for any other text.
    package init?(text: String) {
        var text = text
        guard let id = text.withUTF8({ FileID(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }

    /// Parses a file name that is a lowercase UUID. Returns nil for any other name.
    package init?(name: [UInt8]) {
        guard let id = name.withUnsafeBytes(FileID.init(utf8:)) else { return nil }
        self = id
    }

    private init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for index in bytes.indices {
            let byte = bytes[index]
            if Self.isDash(index) {
                guard byte == 0x2D else { return nil }
                continue
            }
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
        }
        bits = Bits(high: high, low: low)
    }

    package var text: String {
        String(unsafeUninitializedCapacity: Self.length) { bytes in
            var (high, low) = (bits.high, bits.low)
            for index in 0..<Self.length {
                if Self.isDash(index) {
                    bytes[index] = 0x2D
                } else {
                    bytes[index] = ContentHash.digit(UInt8(high >> 60))
                    high = high << 4 | low >> 60
                    low <<= 4
                }
            }
            return Self.length
        }
    }

    private static let length = 36

    private static func isDash(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }

    /// Returns a new id that sorts after every other id that this process has made for the same or an earlier time.
    package static func make(at time: Date = Date()) -> FileID { sequence.make(at: time) }

    /// Returns a new id for a time. If that id would not sort after `other`, returns an id shortly after `other`
    /// instead.
    package static func make(at time: Date, after other: FileID) -> FileID { sequence.make(at: time, after: other) }

    /// Returns an id that sorts shortly after another one, regardless of the time.
    package static func make(after other: FileID) -> FileID { FileID(other.bits.next) }

    /// Returns an id that sorts before all ids made for any time. It is for a file that is older than any clock time.
    package static func makeEarliest() -> FileID { FileID(Bits(high: 0x7000, low: Bits.randomLow())) }

    private static let sequence = FileIDSequence()

    /// The creation time of the id, in milliseconds since 1970.
    package var milliseconds: Int64 { Int64(bits.high >> 16) }

    /// True if the id has version 7, so that ``milliseconds`` is its creation time.
    package var tellsTime: Bool { bits.high >> 12 & 0xF == 7 }

    /// The number as an upper and a lower half.
    package struct Bits: Hashable, Comparable, Sendable {
        package let high: UInt64
        package let low: UInt64

        package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

        package static func < (left: Bits, right: Bits) -> Bool { (left.high, left.low) < (right.high, right.low) }

        /// True for the bits of a UUID of version 7 (RFC 9562, section 5.7).
        package var isVersion7: Bool { high >> 12 & 0xF == 7 && low >> 62 == 2 }

        /// The next upper half with a random lower half, so that two callers that continue from the same id get
        /// different ones.
        fileprivate var next: Bits {
            let isUsedUp = high & 0xFFF == 0xFFF
            return Bits(high: isUsedUp ? (high >> 16 &+ 1) << 16 | 0x7000 : high + 1, low: Self.randomLow())
        }

        static func randomLow() -> UInt64 { low(UInt64.random(in: .min ... .max)) }

        /// Returns a lower half with the UUID variant and the remaining bits of a number.
        static func low(_ number: UInt64) -> UInt64 { 0x8000_0000_0000_0000 | number & 0x3FFF_FFFF_FFFF_FFFF }
    }
}

extension FileID: Comparable {
    /// Orders ids by the creation time of their files, provided that the clocks were right. The order equals that of
    /// the text, which the database uses.
    public static func < (left: FileID, right: FileID) -> Bool { left.bits < right.bits }
}

extension FileID: Codable {
    /// Reads a lowercase UUID from a single value.
    ///
    /// - Throws: `DecodingError` for any other value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = FileID(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not the id of a file.")
        }
        self = id
    }

    /// Writes the text as a single value.
    ///
    /// - Throws: the encoder's errors.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
