/// The values of columns and members.
extension JSONScanner {
    /// Reads a value and converts it to one that a column can store.
    package mutating func value() throws(WireFailure) -> SyncValue {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "{"): return try special()
        case UInt8(ascii: "t"): return try word("true", value: .integer(1))
        case UInt8(ascii: "f"): return try word("false", value: .integer(0))
        case UInt8(ascii: "n"): return try word("null", value: .null)
        default: return try number()
        }
    }

    /// Reads a value as ``value()`` does, and appends it to other values.
    package mutating func value(to cells: inout SyncCells) throws(WireFailure) {
        skipBlanks()
        guard peek == UInt8(ascii: "\"") else { return cells.append(try value()) }
        try cells.appendText { (bytes) throws(WireFailure) in try text(to: &bytes) }
    }

    package mutating func text() throws(WireFailure) -> String {
        skipBlanks()
        try expect("\"")
        let plain = plainText
        if take("\"") { return try Self.string(plain) }
        var unescaped = Array(plain)
        try unescapeRest(to: &unescaped)
        return try Self.string(unescaped)
    }

    /// Reads a text as ``text()`` does, and appends it to other bytes.
    private mutating func text(to text: inout [UInt8]) throws(WireFailure) {
        try expect("\"")
        let plain = plainText
        let start = text.count
        text.append(contentsOf: plain)
        if take("\"") {
            guard Self.isASCII(plain) || String(validating: plain, as: UTF8.self) != nil else { throw Self.notUTF8 }
        } else {
            try unescapeRest(to: &text)
            guard String(validating: text[start...], as: UTF8.self) != nil else { throw Self.notUTF8 }
        }
    }

    /// Reads the rest of a text, starting at its first escape.
    private mutating func unescapeRest(to text: inout [UInt8]) throws(WireFailure) {
        while !take("\"") {
            guard let byte = peek else { throw Self.notJSON("a '\"' is missing") }
            guard byte >= 0x20 else { throw Self.notJSON("a string has a control character") }
            if take("\\") { try unescape(to: &text) } else { text.append(contentsOf: plainText) }
        }
    }

    /// The bytes of a text up to its next escape, its end or an invalid byte.
    private var plainText: UnsafeRawBufferPointer {
        mutating get {
            let start = index
            // Examines eight bytes at a time. In the result, the high bit of a byte marks a quote, a backslash, or a
            // byte below 0x20. The lowest mark is always right.
            while index + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let quote = word ^ (Self.ones &* UInt64(UInt8(ascii: "\"")))
                let backslash = word ^ (Self.ones &* UInt64(UInt8(ascii: "\\")))
                let ends =
                    (quote &- Self.ones) & ~quote | (backslash &- Self.ones) & ~backslash
                    | (word &- Self.ones &* 0x20) & ~word
                let found = ends & Self.highs
                if found != 0 {
                    index += found.trailingZeroBitCount / 8
                    return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
                }
                index += 8
            }
            while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
            return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        }
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    private static func isASCII(_ text: UnsafeRawBufferPointer) -> Bool {
        var (index, all) = (0, UInt64(0))
        while index + 8 <= text.count {
            all |= text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < text.count {
            all |= UInt64(text[index])
            index += 1
        }
        return all & highs == 0
    }

    /// Reads a whole number that JSON libraries of every language keep exactly.
    package mutating func wholeNumber() throws(WireFailure) -> Int64 {
        guard case .integer(let number) = try value(), number.magnitude <= UInt64(WireFormat.largestNumber) else {
            throw WireFailure(.invalidRequest, message: "A whole number is required in place of another value.")
        }
        return number
    }

    package mutating func boolean() throws(WireFailure) -> Bool {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "t"):
            _ = try word("true", value: .null)
            return true
        case UInt8(ascii: "f"):
            _ = try word("false", value: .null)
            return false
        default:
            throw WireFailure(.invalidRequest, message: "'true' or 'false' is required in place of another value.")
        }
    }

    /// Reads `{"hex": "…"}` or `{"real": "Infinity"}`.
    private mutating func special() throws(WireFailure) -> SyncValue {
        let wrong = WireFailure(.invalidRequest, message: "A value is an object without 'hex' or 'real'.")
        try expect("{")
        skipBlanks()
        let name = try name()
        skipBlanks()
        try expect(":")
        let text = try text()
        skipBlanks()
        try expect("}")
        switch name {
        case "hex":
            guard let blob = Self.bytes(ofHex: text) else { throw wrong }
            return .blob(blob)
        case "real" where text == "Infinity": return .real(.infinity)
        case "real" where text == "-Infinity": return .real(-.infinity)
        default: throw wrong
        }
    }

    /// Returns the bytes that pairs of hexadecimal digits stand for. Nil for any other text.
    static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[index]), let low = nibble(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        if digit.isBetween("0", last: "9") { return digit - UInt8(ascii: "0") }
        if digit.isBetween("a", last: "f") { return digit - UInt8(ascii: "a") + 10 }
        if digit.isBetween("A", last: "F") { return digit - UInt8(ascii: "A") + 10 }
        return nil
    }

    private mutating func unescape(to text: inout [UInt8]) throws(WireFailure) {
        guard let byte = peek else { throw Self.notJSON("a string has no end") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var unit = UInt32(try hexUnit())
            if (0xD800..<0xDC00).contains(unit) {
                try expect("\\")
                try expect("u")
                let low = UInt32(try hexUnit())
                guard (0xDC00..<0xE000).contains(low) else { throw Self.notJSON("an escape is an unpaired surrogate") }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw Self.notJSON("an escape is an unpaired surrogate") }
            text.append(contentsOf: UTF8.encode(scalar) ?? .init())
        default: throw Self.notJSON("an escape is unknown")
        }
    }

    private mutating func hexUnit() throws(WireFailure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Self.nibble(byte) else { throw Self.notJSON("an escape is incomplete") }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }

    private mutating func number() throws(WireFailure) -> SyncValue {
        if let integer = shortInteger() { return .integer(integer) }
        let start = index
        var isReal = false
        while let byte = peek {
            if byte.isBetween("0", last: "9") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
                index += 1
            } else if ".eE".utf8.contains(byte) {
                isReal = true
                index += 1
            } else {
                break
            }
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        guard digits.first?.isBetween("0", last: "9") == true, text.utf8.first != UInt8(ascii: "+") else {
            throw Self.notJSON("a value is missing")
        }
        try Self.requireDigits(digits)
        if !isReal, let integer = Int64(text) { return .integer(integer) }
        guard let real = Double(text), real.isFinite else { throw Self.notJSON("a number is not valid") }
        return .real(real)
    }

    /// Refuses two forms that JSON forbids and Swift's parsers accept (RFC 8259, section 6).
    private static func requireDigits(_ digits: Substring.UTF8View) throws(WireFailure) {
        if digits.first == UInt8(ascii: "0"), digits.dropFirst().first?.isBetween("0", last: "9") == true {
            throw notJSON("a number has a leading zero")
        }
        guard let point = digits.firstIndex(of: UInt8(ascii: ".")) else { return }
        guard digits[point...].dropFirst().first?.isBetween("0", last: "9") == true else {
            throw notJSON("a number has no digit after its point")
        }
    }

    /// Reads a whole number of up to 18 digits. Returns nil and reads nothing if something else follows.
    private mutating func shortInteger() -> Int64? {
        let isNegative = peek == UInt8(ascii: "-")
        let start = index + (isNegative ? 1 : 0)
        var (end, number) = (start, Int64(0))
        while end < bytes.count, bytes[end].isBetween("0", last: "9") {
            guard end - start < 18 else { return nil }
            number = number * 10 + Int64(bytes[end] - UInt8(ascii: "0"))
            end += 1
        }
        guard end > start, end == bytes.count || !"+-.eE".utf8.contains(bytes[end]) else { return nil }
        // A leading zero is not valid. The general way throws for it.
        guard end - start == 1 || bytes[start] != UInt8(ascii: "0") else { return nil }
        index = end
        return isNegative ? -number : number
    }

    private mutating func word(_ word: StaticString, value: SyncValue) throws(WireFailure) -> SyncValue {
        let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[index...].starts(with: expected) else { throw Self.notJSON("a value is missing") }
        index += expected.count
        return value
    }

    @inline(__always)
    static func string(_ bytes: some Collection<UInt8>) throws(WireFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw notUTF8 }
        return text
    }

    static var notUTF8: WireFailure { notJSON("it is not UTF-8") }
}
