/// The name of one version of an object's content (RFC 9110, 8.8.3): kept without its quotes, since some servers write
/// none, and without the `W/` that a proxy may add.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotes.
    package let text: String

    /// - Parameter field: the value of an `ETag` field or element; nil when there is nothing in it.
    package init?(_ field: String) {
        var rest = field[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        if rest.hasPrefix("W/\"") { rest = rest.dropFirst(2) }
        if rest.count >= 2, rest.first == "\"", rest.last == "\"" { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty else { return nil }
        text = String(rest)
    }

    /// The tag as header fields have it, with quotes.
    package var quoted: String { "\"\(text)\"" }

    package var description: String { text }
}
