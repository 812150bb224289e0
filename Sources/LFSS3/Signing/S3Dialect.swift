import LFSHTTP

/// Whose signature a server takes, and whose names for the fields of requests.
///
/// Sources: "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API reference; "Signatures" and
/// "HTTP headers and query string parameters" in Google's reference of the XML API.
public enum S3Dialect: String, Hashable, Sendable {
    /// Amazon's: `AWS4-HMAC-SHA256`, `x-amz-…`.
    case amazon
    /// Google's for HMAC keys: `GOOG4-HMAC-SHA256`, `x-goog-…`. An object that is to be new is asked for by its
    /// generation, which only Google's own fields can.
    case google

    var algorithm: String { self == .amazon ? "AWS4-HMAC-SHA256" : "GOOG4-HMAC-SHA256" }
    /// Stands before the secret key where a day's key is derived.
    var keyPrefix: String { self == .amazon ? "AWS4" : "GOOG4" }
    var service: String { self == .amazon ? "s3" : "storage" }
    var scopeEnd: String { self == .amazon ? "aws4_request" : "goog4_request" }
    /// Of header fields.
    var fieldPrefix: String { self == .amazon ? Self.amazonPrefix : "x-goog-" }
    /// Of the parameters of signed URLs.
    var parameterPrefix: String { self == .amazon ? "X-Amz-" : "X-Goog-" }
    /// Where nobody has named a region.
    var region: String { self == .amazon ? "us-east-1" : "auto" }
    /// Whether an upload in parts can be kept from replacing an object: Google's end of one has no condition.
    var hasConditionalCompletion: Bool { self == .amazon }

    private static let amazonPrefix = "x-amz-"

    /// The fields of a request, which are written in Amazon's words, in the words of this dialect.
    ///
    /// - Throws: ``HTTPError`` for what cannot stand in a field.
    func translated(_ headers: HTTPHeaders, of method: HTTPRequest.Method) throws(HTTPError) -> HTTPHeaders {
        guard self == .google else { return headers }
        var result = HTTPHeaders()
        for field in headers.fields {
            switch field.name.lowercased() {
            case "if-none-match" where method == .put: try result.set("x-goog-if-generation-match", "0")
            case "x-amz-server-side-encryption-aws-kms-key-id":
                try result.set("x-goog-encryption-kms-key-name", field.value)
            // All objects are encrypted; checksums have another field, and the body's MD5 is said anyway.
            case "x-amz-server-side-encryption", "x-amz-checksum-mode", "x-amz-checksum-algorithm": break
            case let name where name.hasPrefix(Self.amazonPrefix):
                try result.set(fieldPrefix + name.dropFirst(Self.amazonPrefix.count), field.value)
            default: try result.set(field.name, field.value)
            }
        }
        return result
    }
}
