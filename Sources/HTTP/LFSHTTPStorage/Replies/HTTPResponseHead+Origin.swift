package import LFSHTTP

/// Signs that distinguish a reply of the storage's server from one of a proxy or a network's sign-in page. Sign-in
/// pages answer every request with 200.
extension HTTPResponseHead {
    /// True for an HTML page.
    package var isPage: Bool { headers["content-type"]?.lowercased().hasPrefix("text/html") ?? false }

    /// Returns true if the head has a field that only the storage's server writes: its name has one of these
    /// beginnings, but not the other one.
    ///
    /// - Parameters:
    ///   - beginnings: the beginnings of names, in lowercase. Names are compared case-insensitively.
    ///   - other: the beginning of names that intermediaries write.
    package func hasField(beginningWith beginnings: [String], butNot other: String? = nil) -> Bool {
        headers.fields.contains { field in
            let name = field.name.lowercased()
            return beginnings.contains(where: name.hasPrefix) && !(other.map(name.hasPrefix) ?? false)
        }
    }
}
