/// Reads one JSON value (RFC 8259) from bytes that a stranger has sent, in one pass and without making what nobody asks
/// for. It trusts nothing: what is not JSON is an error, never a trap.
package struct JSONScanner {
    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    /// Objects and arrays within each other.
    private static let depthLimit = 32

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Reads an object member by member.
    ///
    /// - Parameter member: has to read the member's value. Names with escapes are refused: two of them could be one.
    /// - Throws: ``WireFailure/Code/invalidRequest``, and what the closure throws.
    package mutating func object(_ member: (inout JSONScanner, _ name: String) throws -> Void) throws {
        try object({ try $0.name() }, member)
    }

    /// Reads an object whose members are most likely known: as ``object(_:)``, but no name is made of one that stands
    /// where it is expected.
    ///
    /// - Parameter member: has to read the member's value. From the first name on that is another than expected, or
    ///   comes after the last of these, it gets the names.
    package mutating func object(
        expecting names: [String], _ member: (inout JSONScanner, _ other: String?) throws -> Void
    ) throws {
        var next = names.startIndex
        try object(
            { scanner in
                guard next < names.endIndex, scanner.take(name: names[next]) else {
                    next = names.endIndex
                    return try scanner.name()
                }
                next += 1
                return nil
            }, member)
    }

    private mutating func object<Name>(
        _ name: (inout JSONScanner) throws -> Name, _ member: (inout JSONScanner, Name) throws -> Void
    ) throws {
        try expect("{")
        skipBlanks()
        if take("}") { return }
        repeat {
            skipBlanks()
            let name = try name(&self)
            skipBlanks()
            try expect(":")
            try member(&self, name)
            skipBlanks()
        } while take(",")
        try expect("}")
    }

    /// Reads an array element by element.
    package mutating func array(_ element: (inout JSONScanner) throws -> Void) throws {
        try expect("[")
        skipBlanks()
        if take("]") { return }
        repeat {
            try element(&self)
            skipBlanks()
        } while take(",")
        try expect("]")
    }

    /// How many bytes have been read.
    package var offset: Int { index }

    /// - Throws: when something but blanks follows.
    package mutating func end() throws(WireFailure) {
        skipBlanks()
        guard index == bytes.count else { throw Self.notJSON("something follows its end") }
    }

    /// Whether nothing but this and blanks follow.
    package mutating func isAtEnd(after character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard take(character) else { return false }
        skipBlanks()
        return index == bytes.count
    }

    // MARK: Values

    /// The value as a column takes it.
    package mutating func value() throws(WireFailure) -> SyncValue {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "{"): return try special()
        case UInt8(ascii: "t"): return try word("true", .integer(1))
        case UInt8(ascii: "f"): return try word("false", .integer(0))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    package mutating func text() throws(WireFailure) -> String {
        skipBlanks()
        try expect("\"")
        let start = index
        let plain = plainText
        if peek == UInt8(ascii: "\"") {
            index += 1
            return try Self.string(plain)
        }
        var unescaped = Array(bytes[start..<index])
        while let byte = peek, byte != UInt8(ascii: "\"") {
            index += 1
            guard byte >= 0x20 else { throw Self.notJSON("a text has a control character") }
            if byte == UInt8(ascii: "\\") { try unescape(to: &unescaped) } else { unescaped.append(byte) }
        }
        try expect("\"")
        return try Self.string(unescaped)
    }

    /// The bytes from here to the next that is not one of a text as it stands there.
    private var plainText: UnsafeRawBufferPointer {
        mutating get {
            let rest = bytes[index...]
            let length = rest.firstIndex { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }
            let text = rest[..<(length ?? rest.endIndex)]
            index = text.endIndex
            return UnsafeRawBufferPointer(rebasing: text)
        }
    }

    /// A whole number that every language's JSON keeps exactly.
    package mutating func wholeNumber() throws(WireFailure) -> Int64 {
        guard case .integer(let number) = try value(), number.magnitude <= UInt64(WireFormat.largestNumber) else {
            throw WireFailure(.invalidRequest, "A whole number has to stand where something else does.")
        }
        return number
    }

    package mutating func boolean() throws(WireFailure) -> Bool {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "t"):
            _ = try word("true", .null)
            return true
        case UInt8(ascii: "f"):
            _ = try word("false", .null)
            return false
        default: throw WireFailure(.invalidRequest, "'true' or 'false' has to stand where something else does.")
        }
    }

    /// Passes over a value and returns its text.
    @discardableResult package mutating func skip() throws -> UnsafeRawBufferPointer {
        skipBlanks()
        let start = index
        try skip(depth: 0)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
    }

    private mutating func skip(depth: Int) throws {
        guard depth < Self.depthLimit else { throw Self.notJSON("it is nested too deep") }
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): try object { scanner, _ in try scanner.skip(depth: depth + 1) }
        case UInt8(ascii: "["): try array { try $0.skip(depth: depth + 1) }
        default: _ = try value()
        }
    }

    // MARK: Parts

    /// `{"hex": "…"}` or `{"real": "Infinity"}`.
    private mutating func special() throws(WireFailure) -> SyncValue {
        let wrong = WireFailure(.invalidRequest, "A value is an object, and neither 'hex' nor 'real'.")
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

    private static func bytes(ofHex text: String) -> [UInt8]? {
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
        if digit.isBetween("0", "9") { return digit - UInt8(ascii: "0") }
        if digit.isBetween("a", "f") { return digit - UInt8(ascii: "a") + 10 }
        if digit.isBetween("A", "F") { return digit - UInt8(ascii: "A") + 10 }
        return nil
    }

    private mutating func name() throws(WireFailure) -> String {
        try expect("\"")
        let start = index
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { throw Self.notJSON("a member's name has an escape") }
            index += 1
        }
        try expect("\"")
        return try Self.string(UnsafeRawBufferPointer(rebasing: bytes[start..<index - 1]))
    }

    /// Passes over a name if it is this one.
    private mutating func take(name expected: String) -> Bool {
        var expected = expected
        let isNext = expected.withUTF8 { name in
            let end = index + 1 + name.count
            return end < bytes.count && bytes[index] == UInt8(ascii: "\"") && bytes[end] == UInt8(ascii: "\"")
                && bytes[index + 1..<end].elementsEqual(name)
        }
        if isNext { index += expected.utf8.count + 2 }
        return isNext
    }

    private mutating func unescape(to text: inout [UInt8]) throws(WireFailure) {
        guard let byte = peek else { throw Self.notJSON("a text does not end") }
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
                guard (0xDC00..<0xE000).contains(low) else { throw Self.notJSON("an escape is half a character") }
                unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw Self.notJSON("an escape is half a character") }
            text.append(contentsOf: UTF8.encode(scalar) ?? .init())
        default: throw Self.notJSON("an escape is none that there is")
        }
    }

    private mutating func hexUnit() throws(WireFailure) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Self.nibble(byte) else { throw Self.notJSON("an escape is cut off") }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }

    private mutating func number() throws(WireFailure) -> SyncValue {
        let start = index
        var isReal = false
        while let byte = peek {
            if byte.isBetween("0", "9") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
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
        guard digits.first?.isBetween("0", "9") == true, text.utf8.first != UInt8(ascii: "+") else {
            throw Self.notJSON("a value is missing")
        }
        if !isReal, let integer = Int64(text) { return .integer(integer) }
        guard let real = Double(text), real.isFinite else { throw Self.notJSON("a number is none") }
        return .real(real)
    }

    private mutating func word(_ word: StaticString, _ value: SyncValue) throws(WireFailure) -> SyncValue {
        let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[index...].starts(with: expected) else { throw Self.notJSON("a value is missing") }
        index += expected.count
        return value
    }

    /// Bytes that are no UTF-8 become others on their way through a String.
    @inline(__always)
    private static func string(_ bytes: some Collection<UInt8>) throws(WireFailure) -> String {
        var text = String(decoding: bytes, as: UTF8.self)
        let isSame = text.withUTF8 { $0.elementsEqual(bytes) }
        guard isSame else { throw notJSON("it is not UTF-8") }
        return text
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(WireFailure) {
        skipBlanks(unless: character)
        guard take(character) else { throw Self.notJSON("a '\(character)' is missing") }
    }

    /// Blanks count within texts.
    private mutating func skipBlanks(unless character: Unicode.Scalar) {
        if character == "{" || character == "[" { skipBlanks() }
    }

    package mutating func skipBlanks() {
        // Nearly always there is none.
        while let byte = peek, byte <= 0x20 {
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            index += 1
        }
    }

    private static func notJSON(_ reason: String) -> WireFailure {
        WireFailure(.invalidRequest, "A line is not JSON as it has to be: \(reason).")
    }
}
