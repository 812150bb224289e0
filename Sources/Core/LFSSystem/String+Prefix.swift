extension String {
    /// Returns the text after a prefix of exactly these bytes, or nil if the text begins otherwise.
    ///
    /// `hasPrefix(_:)` compares by canonical equivalence: "é" as one code point equals "é" as two. As names of objects
    /// and files they are different.
    package func text(afterPrefix prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(Substring(utf8.dropFirst(prefix.utf8.count)))
    }
}
