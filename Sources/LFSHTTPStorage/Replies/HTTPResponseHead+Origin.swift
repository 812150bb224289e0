package import LFSHTTP

/// By what an answer of the storage's server is told from one of a proxy or of the sign-in page of a network, which say
/// 200 to everything.
extension HTTPResponseHead {
    /// Whether it leads a page for people.
    package var isPage: Bool { headers["content-type"]?.lowercased().hasPrefix("text/html") ?? false }

    /// Whether it has a field whose name begins in one of these ways, but not in the other: one that only the storage's
    /// server writes.
    ///
    /// - Parameters:
    ///   - beginnings: in lowercase; names compare without regard to case.
    ///   - other: what something before the server writes.
    package func hasField(beginningWith beginnings: [String], butNot other: String? = nil) -> Bool {
        headers.fields.contains { field in
            let name = field.name.lowercased()
            return beginnings.contains(where: name.hasPrefix) && !(other.map(name.hasPrefix) ?? false)
        }
    }
}
