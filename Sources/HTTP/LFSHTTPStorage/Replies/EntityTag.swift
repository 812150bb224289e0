/// The entity tag of one version of an object's content (RFC 9110, section 8.8.3).
///
/// It is kept without quotes, because some servers omit them, and without the `W/` that a proxy may add.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotes.
    package let text: String

    /// - Parameter field: the value of an `ETag` field or element. The result is nil if it is empty.
    package init?(_ field: String) {
        let (space, quote) = (UInt8(ascii: " "), UInt8(ascii: "\""))
        var rest = field[...].utf8
        while rest.first == space { rest.removeFirst() }
        while rest.last == space { rest.removeLast() }
        if rest.starts(with: "W/\"".utf8) { rest = rest.dropFirst(2) }
        if rest.count >= 2, rest.first == quote, rest.last == quote { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty else { return nil }
        text = String(Substring(rest))
    }

    /// The tag with quotes, as header fields need it.
    package var quoted: String { "\"\(text)\"" }

    package var description: String { text }
}
