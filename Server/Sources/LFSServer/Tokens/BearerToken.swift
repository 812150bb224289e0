import HTTPTypes
public import Hummingbird

/// The token that a request shows (RFC 6750).
public enum BearerToken {
    /// nil when there is none, or more of it than any token has.
    public static func text(of request: Request) -> String? {
        guard let field = request.headers[.authorization], field.utf8.count <= 4_096 else { return nil }
        let words = field.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return words[1]
    }
}
