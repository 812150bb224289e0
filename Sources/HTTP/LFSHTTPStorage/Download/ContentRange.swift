/// The range in a `Content-Range` field, such as `bytes 0-9/100` (RFC 9110, section 14.4).
package struct ContentRange: Hashable, Sendable {
    package let first: Int64
    package let last: Int64
    package let total: Int64

    /// Returns nil for any other form, including an unknown total.
    package init?(_ field: String) {
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/")
        let ends = halves.first?.split(separator: "-") ?? []
        guard halves.count == 2, ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]),
            let total = Int64(halves[1]), first <= last, last < total
        else { return nil }
        self.first = first
        self.last = last
        self.total = total
    }
}

extension Range<Int64> {
    /// The range in the form of the `Range` field: `bytes=0-9` (RFC 9110, section 14.2). It must not be empty, because
    /// HTTP cannot request zero bytes.
    package var asField: String { "bytes=\(lowerBound)-\(upperBound - 1)" }
}
