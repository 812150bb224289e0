/// Looks at JSON (RFC 8259) that a stranger has sent, before anything decodes it: too deep, too much of it, a name that
/// comes twice in one object.
///
/// Of two members with one name `JSONDecoder` takes one and another program the other, so that they would disagree on
/// what was asked for.
package struct StrictJSON {
    /// What a message may hold.
    package struct Limits: Sendable {
        /// Bytes of the whole.
        package var byteCount: Int
        /// Objects and arrays within each other.
        package var depth = 8
        /// Values of all kinds.
        package var valueCount: Int

        package init(byteCount: Int, valueCount: Int) {
            self.byteCount = byteCount
            self.valueCount = valueCount
        }

        /// For requests: 1 MiB.
        package static let request = Limits(byteCount: 1 << 20, valueCount: 4_000)
        /// For replies: 4 MiB.
        package static let reply = Limits(byteCount: 4 << 20, valueCount: 100_000)
    }

    private let bytes: [UInt8]
    private let limits: Limits
    private var index = 0
    private var valueCount = 0

    private init(_ bytes: [UInt8], _ limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// - Throws: ``WireFailure`` with ``WireFailure/Code/invalidRequest``, or ``WireFailure/Code/tooLarge``.
    package static func check(_ bytes: [UInt8], _ limits: Limits) throws(WireFailure) {
        guard bytes.count <= limits.byteCount else {
            throw WireFailure(.tooLarge, "The message has more than \(limits.byteCount) bytes.")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw WireFailure.notJSON("it is not UTF-8") }
        var reader = StrictJSON(bytes, limits)
        try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.index == bytes.count else { throw WireFailure.notJSON("something follows its end") }
    }

    private mutating func value(depth: Int) throws(WireFailure) {
        guard depth <= limits.depth else { throw WireFailure.notJSON("it is nested too deep") }
        valueCount += 1
        guard valueCount <= limits.valueCount else {
            throw WireFailure(.tooLarge, "The message has more than \(limits.valueCount) values.")
        }
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): try object(depth)
        case UInt8(ascii: "["): try array(depth)
        case UInt8(ascii: "\""): _ = try string()
        default: try word()
        }
    }

    private mutating func object(_ depth: Int) throws(WireFailure) {
        index += 1
        var names: Set<[UInt8]> = []
        skipBlanks()
        if take("}") { return }
        repeat {
            skipBlanks()
            guard peek == UInt8(ascii: "\"") else { throw WireFailure.notJSON("a member has no name") }
            guard try names.insert(string()).inserted else { throw WireFailure.notJSON("a member comes twice") }
            skipBlanks()
            guard take(":") else { throw WireFailure.notJSON("a ':' is missing") }
            try value(depth: depth + 1)
            skipBlanks()
        } while take(",")
        guard take("}") else { throw WireFailure.notJSON("a '}' is missing") }
    }

    private mutating func array(_ depth: Int) throws(WireFailure) {
        index += 1
        skipBlanks()
        if take("]") { return }
        repeat {
            try value(depth: depth + 1)
            skipBlanks()
        } while take(",")
        guard take("]") else { throw WireFailure.notJSON("a ']' is missing") }
    }

    /// A text as it is written. An escape in a member's name is refused: two names could be one.
    private mutating func string() throws(WireFailure) -> [UInt8] {
        index += 1
        let start = index
        var hasEscape = false
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw WireFailure.notJSON("a text has a control character") }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                index += 1
            }
            index += 1
        }
        guard index < bytes.count else { throw WireFailure.notJSON("a text does not end") }
        let text = Array(bytes[start..<index])
        index += 1
        skipBlanks()
        if hasEscape, peek == UInt8(ascii: ":") { throw WireFailure.notJSON("a member's name has an escape") }
        return text
    }

    /// A number, `true`, `false` or `null`: which of them it is, the decoder finds out.
    private mutating func word() throws(WireFailure) {
        let start = index
        while let byte = peek, isWord(byte) { index += 1 }
        guard index > start else { throw WireFailure.notJSON("a value is missing") }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        byte.isBetween("0", "9") || byte.isBetween("a", "z") || byte.isBetween("A", "Z") || "+-.".utf8.contains(byte)
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = peek, " \t\r\n".utf8.contains(byte) { index += 1 }
    }
}

extension WireFailure {
    fileprivate static func notJSON(_ reason: String) -> WireFailure {
        WireFailure(.invalidRequest, "The message is not JSON as it has to be: \(reason).")
    }
}
