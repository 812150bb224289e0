import LFSHTTP

/// The signature algorithm and header names of a server.
///
/// Sources: "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API reference. "Signatures" and "HTTP
/// headers and query string parameters" in Google's reference of the XML API.
package enum S3Dialect: String, Hashable, Sendable {
    /// Amazon's dialect: `AWS4-HMAC-SHA256`, `x-amz-…`.
    case amazon
    /// Google's dialect for HMAC keys: `GOOG4-HMAC-SHA256`, `x-goog-…`. The condition for new objects uses their
    /// generation, which only Google's fields support.
    case google

    var algorithm: String { self == .amazon ? "AWS4-HMAC-SHA256" : "GOOG4-HMAC-SHA256" }
    /// The text before the secret key when the key of a day is derived.
    var keyPrefix: String { self == .amazon ? "AWS4" : "GOOG4" }
    var service: String { self == .amazon ? "s3" : "storage" }
    var scopeEnd: String { self == .amazon ? "aws4_request" : "goog4_request" }
    /// The prefix of header fields.
    var fieldPrefix: String { self == .amazon ? Self.amazonPrefix : "x-goog-" }
    /// The prefix of the parameters of signed URLs.
    var parameterPrefix: String { self == .amazon ? "X-Amz-" : "X-Goog-" }
    /// The default region.
    var region: String { self == .amazon ? "us-east-1" : "auto" }
    /// True if a multipart upload can be kept from replacing an object. Google's completion has no condition.
    var hasConditionalCompletion: Bool { self == .amazon }

    private static let amazonPrefix = "x-amz-"

    /// Translates the header fields of a request from Amazon's names to this dialect.
    ///
    /// - Throws: ``HTTPError`` for a value that is invalid in a header field.
    func translated(_ headers: HTTPHeaders, of method: HTTPRequest.Method) throws(HTTPError) -> HTTPHeaders {
        guard self == .google else { return headers }
        var result = HTTPHeaders()
        for field in headers.fields {
            switch field.name.lowercased() {
            case "if-none-match" where method == .put: try result.set("x-goog-if-generation-match", value: "0")
            case "x-amz-server-side-encryption-aws-kms-key-id":
                try result.set("x-goog-encryption-kms-key-name", value: field.value)
            // Google encrypts all objects. Checksums use another field, and the MD5 of a body is reported without a
            // request for it.
            case "x-amz-server-side-encryption", "x-amz-checksum-mode", "x-amz-checksum-algorithm": break
            case let name where name.hasPrefix(Self.amazonPrefix):
                try result.set(fieldPrefix + name.dropFirst(Self.amazonPrefix.count), value: field.value)
            default: try result.set(field.name, value: field.value)
            }
        }
        return result
    }
}
