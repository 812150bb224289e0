/// The name of one version of an object's content (RFC 9110, 8.8.3): kept without its quotes, since some servers write
/// none, and without the `W/` that a proxy may add.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotes.
    package let text: String

    /// - Parameter field: the value of an `ETag` field or element; nil when there is nothing in it.
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

    /// The tag as header fields have it, with quotes.
    package var quoted: String { "\"\(text)\"" }

    package var description: String { text }
}
