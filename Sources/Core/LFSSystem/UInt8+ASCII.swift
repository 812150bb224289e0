/// The classes of bytes as ASCII characters (RFC 20).
extension UInt8 {
    /// True for `0` to `9`.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    /// True for `a` to `z`.
    package var isLowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    /// True for `a` to `z` and `A` to `Z`.
    package var isLetter: Bool { (self | 0x20).isLowercaseLetter }
}
