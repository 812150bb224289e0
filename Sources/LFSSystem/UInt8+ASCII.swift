/// What a byte is as a character of ASCII (RFC 20).
extension UInt8 {
    /// `0` to `9`.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    /// `a` to `z`.
    package var isLowercaseLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    /// `a` to `z` and `A` to `Z`.
    package var isLetter: Bool { (self | 0x20).isLowercaseLetter }
}
