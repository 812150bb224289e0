import LFSSystem

/// The header fields of one message, in order. Names are compared case-insensitively (RFC 9110, section 5.1).
package struct HTTPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    /// The values by name. Of fields with the same name, the first one counts.
    package var byName: [String: String] {
        Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    }

    package init() {}

    /// Creates fields from literals that are known to be valid. Untrusted values use ``set(_:_:)``.
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            precondition(Self.isName(name) && Self.isValue(value), "not a header field: \(name)")
            add(name, value: value)
        }
    }

    /// The value of the first field with that name.
    package subscript(name: String) -> String? {
        firstIndex(of: name).map { fields[$0].value }
    }

    /// Replaces all fields with that name by one field.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest`` for a name that is not a token, and for a value with control
    ///   characters. A line break in a value would inject another field.
    package mutating func set(_ name: String, value: String) throws(HTTPError) {
        guard Self.isName(name) else {
            throw HTTPError(.invalidRequest, message: "'\(name)' is not the name of a header field.")
        }
        guard Self.isValue(value) else {
            throw HTTPError(.invalidRequest, message: "The value of the header field '\(name)' has control characters.")
        }
        remove(name)
        add(name, value: value)
    }

    /// Removes all fields with that name.
    package mutating func remove(_ name: String) {
        // Most calls find no field. This check avoids a copy of the array.
        guard firstIndex(of: name) != nil else { return }
        fields.removeAll { Self.isEqual($0.name, other: name) }
    }

    /// Adds a field of a reply. An invalid field is dropped, because no code may act on it.
    package mutating func append(received name: String, _ value: String) {
        guard Self.isName(name), Self.isValue(value) else { return }
        add(name, value: value)
    }

    /// Compares by index, because iterating over the fields would copy each of them.
    private func firstIndex(of name: String) -> Int? {
        fields.indices.first { Self.isEqual(fields[$0].name, other: name) }
    }

    private mutating func add(_ name: String, value: String) {
        // Most messages have at most 16 fields, so the array grows only once.
        if fields.isEmpty { fields.reserveCapacity(16) }
        fields.append(Field(name: name, value: value))
    }

    /// Returns true if two names are equal, ignoring case.
    package static func isEqual(_ one: String, other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        var (one, other) = (one, other)
        return one.withUTF8 { one in
            other.withUTF8 { other in
                one.indices.allSatisfy { one[$0] == other[$0] || lowercased(one[$0]) == lowercased(other[$0]) }
            }
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Accepts a token (RFC 9110, section 5.6.2).
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.hasOnly(isOfToken)
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        byte.isLetter || byte == UInt8(ascii: "-") || byte.isDigit || "!#$%&'*+.^_`|~".utf8.contains(byte)
    }

    /// Rejects control characters except the tab (RFC 9110, section 5.5).
    private static func isValue(_ value: String) -> Bool {
        value.hasOnly { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
