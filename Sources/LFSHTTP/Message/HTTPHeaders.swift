import LFSSystem

/// The header fields of one message, in order; names compare without regard to case (RFC 9110, 5.1).
package struct HTTPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// One field.
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// Fields that are known to be right. What comes from outside goes through ``set(_:_:)``.
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            precondition(Self.isName(name) && Self.isValue(value), "not a header field: \(name)")
            add(name, value)
        }
    }

    /// The value of the first field of that name.
    package subscript(name: String) -> String? {
        firstIndex(of: name).map { fields[$0].value }
    }

    /// Replaces all fields of that name with one.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest`` for a name that is not a token and for a value with control
    ///   characters: a line break in it would smuggle in another field.
    package mutating func set(_ name: String, _ value: String) throws(HTTPError) {
        guard Self.isName(name) else {
            throw HTTPError(.invalidRequest, "'\(name)' is not the name of a header field.")
        }
        guard Self.isValue(value) else {
            throw HTTPError(.invalidRequest, "The value of the header field '\(name)' has control characters.")
        }
        remove(name)
        add(name, value)
    }

    /// Removes all fields of that name.
    package mutating func remove(_ name: String) {
        // Almost always there is none, which a look finds out without a copy.
        guard firstIndex(of: name) != nil else { return }
        fields.removeAll { Self.isEqual($0.name, name) }
    }

    /// Adds a field of a reply. One that breaks the rules is left out: nobody may act on it.
    package mutating func append(received name: String, _ value: String) {
        guard Self.isName(name), Self.isValue(value) else { return }
        add(name, value)
    }

    /// By index, since a field that is looked at as a whole is copied.
    private func firstIndex(of name: String) -> Int? {
        fields.indices.first { Self.isEqual(fields[$0].name, name) }
    }

    private mutating func add(_ name: String, _ value: String) {
        // As many as most messages have, so that they are not moved again and again.
        if fields.isEmpty { fields.reserveCapacity(16) }
        fields.append(Field(name: name, value: value))
    }

    /// Whether two names are the same, whatever their case.
    package static func isEqual(_ one: String, _ other: String) -> Bool {
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

    /// A token (RFC 9110, 5.6.2).
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.hasOnly(isOfToken)
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        byte.isLetter || byte == UInt8(ascii: "-") || byte.isDigit || "!#$%&'*+.^_`|~".utf8.contains(byte)
    }

    /// No control characters but the tab (RFC 9110, 5.5).
    private static func isValue(_ value: String) -> Bool {
        value.hasOnly { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
