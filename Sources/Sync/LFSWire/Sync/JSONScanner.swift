/// A reader of one untrusted JSON value (RFC 8259) in a single pass, without creating values that no caller needs.
/// Invalid JSON is an error, never a trap.
package struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    /// The number of bytes that have been read.
    var index = 0
    /// The maximum depth of nested objects and arrays.
    private static let depthLimit = 32

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Reads an object member by member.
    ///
    /// - Parameter member: reads the member's value. Names with escapes are refused, because two spellings could be the
    ///   same name.
    /// - Throws: ``WireFailure/Code/invalidRequest``, and errors of the closure.
    package mutating func object(_ member: (inout JSONScanner, _ name: String) throws -> Void) throws {
        try object({ try $0.name() }, member)
    }

    /// Reads an object that probably has the expected members, in their order. It works as ``object(_:)``, but creates
    /// no string for an expected name.
    ///
    /// - Parameter member: reads the member's value. It receives nil for an expected name. From the first unexpected
    ///   name on, and after the last expected one, it receives the names.
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

    /// The number of bytes that have been read.
    package var offset: Int { index }

    /// The number of bytes that have not been read yet.
    package var waitingCount: Int { bytes.count - index }

    /// Checks that the value ends the bytes.
    ///
    /// - Throws: ``WireFailure`` if anything but blanks follows.
    package mutating func end() throws(WireFailure) {
        skipBlanks()
        guard index == bytes.count else { throw Self.notJSON("it has content after its end") }
    }

    /// Returns true if only this character and blanks follow.
    package mutating func isAtEnd(after character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard take(character) else { return false }
        skipBlanks()
        return index == bytes.count
    }

    /// Skips a value and returns its text.
    @discardableResult package mutating func skip() throws -> UnsafeRawBufferPointer {
        skipBlanks()
        let start = index
        try skip(depth: 0)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
    }

    private mutating func skip(depth: Int) throws {
        guard depth < Self.depthLimit else { throw Self.notJSON("it is nested too deeply") }
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): try object { scanner, _ in try scanner.skip(depth: depth + 1) }
        case UInt8(ascii: "["): try array { try $0.skip(depth: depth + 1) }
        default: _ = try value()
        }
    }

    // MARK: Parts

    mutating func name() throws(WireFailure) -> String {
        try expect("\"")
        let start = index
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { throw Self.notJSON("a member's name has an escape") }
            index += 1
        }
        try expect("\"")
        return try Self.string(UnsafeRawBufferPointer(rebasing: bytes[start..<index - 1]))
    }

    /// Skips a name if it is the expected one.
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

    var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws(WireFailure) {
        skipBlanks(unless: character)
        guard take(character) else { throw Self.notJSON("a '\(character)' is missing") }
    }

    /// Skips blanks before an object or array. Inside texts, blanks are content.
    private mutating func skipBlanks(unless character: Unicode.Scalar) {
        if character == "{" || character == "[" { skipBlanks() }
    }

    package mutating func skipBlanks() {
        // Nearly always, no blank follows.
        while let byte = peek, byte <= 0x20 {
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            index += 1
        }
    }

    static func notJSON(_ reason: String) -> WireFailure {
        WireFailure(.invalidRequest, message: "A line is not valid JSON: \(reason).")
    }
}
