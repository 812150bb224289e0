import HTTPTypes
public import Hummingbird

/// The bearer token of a request (RFC 6750).
public enum BearerToken {
    /// Returns the token. Returns nil if there is no token or if the header exceeds 4,096 bytes.
    public static func text(of request: Request) -> String? {
        guard let field = request.headers[.authorization], field.utf8.count <= 4_096 else { return nil }
        let words = field.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return words[1]
    }
}
