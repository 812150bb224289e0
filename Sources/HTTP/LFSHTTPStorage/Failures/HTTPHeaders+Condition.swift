package import LFSHTTP

extension HTTPHeaders {
    /// True if a request with these fields may fail with 412: it has a condition (RFC 9110, section 13.1), `If` or
    /// `Overwrite` of WebDAV (RFC 4918, sections 10.4 and 10.6), or a field of a provider such as
    /// `x-goog-if-generation-match`.
    package var hasCondition: Bool {
        fields.contains { field in
            let name = field.name.lowercased()
            return name.hasPrefix("if-") || name.contains("-if-") || name == "if" || name == "overwrite"
        }
    }
}
