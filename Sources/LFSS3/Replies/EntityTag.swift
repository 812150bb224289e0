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

    /// The text in lowercase when it looks like an MD5 (RFC 1321): 32 hex digits. Only a provider's rules say that it
    /// is one.
    package var md5: String? {
        let text = text.lowercased()
        return text.utf8.count == 32 && text.utf8.allSatisfy(Self.isHexDigit) ? text : nil
    }

    /// The two halves of a tag that looks like the MD5 over the MD5s of parts, with `-` and their number.
    package var md5OfParts: (md5: String, count: Int)? {
        let halves = text.split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, let md5 = EntityTag(String(halves[0]))?.md5, let count = Int(halves[1]), count > 0
        else { return nil }
        return (md5, count)
    }

    package var description: String { text }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
