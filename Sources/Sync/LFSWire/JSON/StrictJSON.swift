/// A check of untrusted JSON (RFC 8259) before it is decoded. It refuses JSON that is nested too deeply, has too many
/// values, or repeats a name in an object.
///
/// If two members have the same name, `JSONDecoder` may use one and another program the other. The programs would then
/// disagree about the request.
package struct StrictJSON {
    /// The limits of a message.
    package struct Limits: Sendable {
        /// The maximum number of bytes in the message.
        package var byteCount: Int
        /// The maximum depth of nested objects and arrays.
        package var depth = 8
        /// The maximum number of values of all kinds.
        package var valueCount: Int

        package init(byteCount: Int, valueCount: Int) {
            self.byteCount = byteCount
            self.valueCount = valueCount
        }

        /// The limits of requests: 1 MiB.
        package static let request = Limits(byteCount: 1 << 20, valueCount: 4_000)
        /// The limits of replies: 4 MiB.
        package static let reply = Limits(byteCount: 4 << 20, valueCount: 100_000)
    }

    private let bytes: [UInt8]
    private let limits: Limits
    private var index = 0
    private var valueCount = 0

    private init(_ bytes: [UInt8], limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// Checks a message.
    ///
    /// - Throws: ``WireFailure`` with ``WireFailure/Code/invalidRequest``, or ``WireFailure/Code/tooLarge``.
    package static func check(_ bytes: [UInt8], limits: Limits) throws(WireFailure) {
        guard bytes.count <= limits.byteCount else {
            throw WireFailure(.tooLarge, message: "The message has more than \(limits.byteCount) bytes.")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw WireFailure.notJSON("it is not UTF-8") }
        var reader = StrictJSON(bytes, limits: limits)
        try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.index == bytes.count else { throw WireFailure.notJSON("it has content after its end") }
    }

    private mutating func value(depth: Int) throws(WireFailure) {
        guard depth <= limits.depth else { throw WireFailure.notJSON("it is nested too deeply") }
        valueCount += 1
        guard valueCount <= limits.valueCount else {
            throw WireFailure(.tooLarge, message: "The message has more than \(limits.valueCount) values.")
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
            guard try names.insert(string()).inserted else { throw WireFailure.notJSON("a member appears twice") }
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

    /// Reads a string without unescaping it. Refuses an escape in a member's name, because two spellings could be the
    /// same name.
    private mutating func string() throws(WireFailure) -> [UInt8] {
        index += 1
        let start = index
        var hasEscape = false
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw WireFailure.notJSON("a string has a control character") }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                index += 1
            }
            index += 1
        }
        guard index < bytes.count else { throw WireFailure.notJSON("a string has no end") }
        let text = Array(bytes[start..<index])
        index += 1
        skipBlanks()
        if hasEscape, peek == UInt8(ascii: ":") { throw WireFailure.notJSON("a member's name has an escape") }
        return text
    }

    /// Reads a number, `true`, `false` or `null`. The decoder distinguishes them.
    private mutating func word() throws(WireFailure) {
        let start = index
        while let byte = peek, isWord(byte) { index += 1 }
        guard index > start else { throw WireFailure.notJSON("a value is missing") }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        byte.isBetween("0", last: "9") || byte.isBetween("a", last: "z") || byte.isBetween("A", last: "Z")
            || "+-.".utf8.contains(byte)
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
        WireFailure(.invalidRequest, message: "The message is not valid JSON: \(reason).")
    }
}
