/// `bytes 0-9/100` (RFC 9110, 14.4).
package struct ContentRange: Hashable, Sendable {
    package let first: Int64
    package let last: Int64
    package let total: Int64

    /// nil for anything else, an unknown total included.
    package init?(_ field: String) {
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/")
        let ends = halves.first?.split(separator: "-") ?? []
        guard halves.count == 2, ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]),
            let total = Int64(halves[1]), first <= last, last < total
        else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }
}

extension Range<Int64> {
    /// As the `Range` field has it: `bytes=0-9` (RFC 9110, 14.2). Not for an empty one: HTTP has no way to ask for no
    /// bytes.
    package var asField: String { "bytes=\(lowerBound)-\(upperBound - 1)" }
}
