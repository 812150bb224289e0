import Crypto
package import Foundation
package import LFSHTTP
import LFSHTTPStorage
import LFSSystem

/// A signer for AWS Signature Version 4 with the rules of S3. The path is encoded once and never normalized, and the
/// signature covers `x-amz-content-sha256`. Google's variant differs only in names (``S3Dialect``).
///
/// Source: "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API reference.
package struct SignatureV4: Sendable {
    /// The payload hash of an unsigned body. It is only allowed over TLS.
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"
    /// The SHA-256 of zero bytes.
    package static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    package let credentials: S3Credentials
    package let region: String
    package let dialect: S3Dialect
    /// The part of the credential scope after the day.
    private let scopeEnd: String
    private let key: SigningKey

    /// Creates a signer for all requests with the same credentials. It caches the derived key of the day.
    package init(
        credentials: S3Credentials, region: String, service: String? = nil, dialect: S3Dialect = .amazon
    ) {
        self.credentials = credentials
        self.region = region
        self.dialect = dialect
        let scope = [region, service ?? dialect.service, dialect.scopeEnd]
        scopeEnd = "/" + scope.joined(separator: "/")
        key = SigningKey(
            secretAccessKey: credentials.secretAccessKey, prefix: dialect.keyPrefix, scope: scope)
    }

    /// Signs a request. Adds `Authorization`, `x-amz-date`, `x-amz-content-sha256`, and `x-amz-security-token` for
    /// temporary credentials, with the names of the dialect.
    ///
    /// The signature covers host, content-type, content-md5, date, range, and all fields that begin with `if-`,
    /// `x-amz-` or `x-goog-`. Intermediaries may change other fields, such as `accept-encoding` and `user-agent`.
    ///
    /// - Parameters:
    ///   - path: the percent-encoded path, exactly as it is sent.
    ///   - query: the parameters, not encoded. The target must contain them as ``PercentEncoding`` writes them.
    ///   - headers: the fields. A `host` field replaces the origin's name.
    ///   - payloadHash: the SHA-256 of the body in lowercase hex, or ``unsignedPayload``.
    /// - Throws: ``HTTPError/Code/invalidRequest`` for credentials that are invalid in a header field, and for an
    ///   unsigned payload without TLS.
    package func sign(
        _ method: HTTPRequest.Method, origin: HTTPOrigin, path: String, query: [(name: String, value: String)] = [],
        headers: inout HTTPHeaders, payloadHash: String, date: Date
    ) throws(HTTPError) {
        guard origin.isSecure || payloadHash != Self.unsignedPayload else {
            throw HTTPError(
                .invalidRequest, message: "A body that is not signed is sent to \(origin) only with TLS: use https.")
        }
        let moment = SigningDate(UTCTime(date), scopeEnd: scopeEnd)
        let prefix = dialect.fieldPrefix
        try headers.set(prefix + "date", value: moment.stamp)
        try headers.set(prefix + "content-sha256", value: payloadHash)
        if let token = credentials.sessionToken { try headers.set(prefix + "security-token", value: token) }
        let request = CanonicalRequest(
            method: method, path: path, query: PercentEncoding.canonicalQuery(query), host: origin.authority,
            headers: headers, payloadHash: payloadHash)
        try headers.set("authorization", value: authorization(request, at: moment))
    }

    /// Returns the query, without its `?`, of a URL that anyone may use until it expires.
    ///
    /// The signature does not cover the body. A checksum among the fields fixes the body if the server compares it. The
    /// result is a secret until it expires, so do not store or log it.
    ///
    /// - Parameters:
    ///   - headers: the fields that the request must carry with these values, including `content-length`. All are
    ///     signed.
    ///   - expires: 1 second to 7 days, in whole seconds. Temporary credentials may expire earlier.
    /// - Throws: ``HTTPError/Code/invalidRequest`` for another time span.
    package func presign(
        _ method: HTTPRequest.Method, origin: HTTPOrigin, path: String,
        query: [(name: String, value: String)] = [], headers: HTTPHeaders = [:], expires: Duration, date: Date
    ) throws(HTTPError) -> String {
        let seconds = expires.components.seconds
        guard (1...604_800).contains(seconds) else {
            throw HTTPError(.invalidRequest, message: "A signed URL must be valid for 1 second to 7 days.")
        }
        let moment = SigningDate(UTCTime(date), scopeEnd: scopeEnd)
        var signed: [UInt8] = []
        SignedFields(headers, host: origin.authority, all: true).appendNames(to: &signed)
        var items = query
        let prefix = dialect.parameterPrefix
        items.append((prefix + "Algorithm", dialect.algorithm))
        items.append((prefix + "Credential", "\(credentials.accessKeyID)/\(moment.scope)"))
        items.append((prefix + "Date", moment.stamp))
        items.append((prefix + "Expires", String(seconds)))
        items.append((prefix + "SignedHeaders", String(decoding: signed, as: UTF8.self)))
        if let token = credentials.sessionToken { items.append((prefix + "Security-Token", token)) }
        let canonicalQuery = PercentEncoding.canonicalQuery(items)
        let request = CanonicalRequest(
            method: method, path: path, query: canonicalQuery, host: origin.authority, headers: headers,
            payloadHash: Self.unsignedPayload, signsAll: true)
        return String(decoding: canonicalQuery, as: UTF8.self) + "&\(prefix)Signature=" + signature(request, at: moment)
    }

    /// Returns the value of the `Authorization` field.
    func authorization(_ request: CanonicalRequest, at time: UTCTime) -> String {
        authorization(request, at: SigningDate(time, scopeEnd: scopeEnd))
    }

    private func authorization(_ request: CanonicalRequest, at moment: SigningDate) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        text.append(text: dialect.algorithm)
        text.append(text: " Credential=")
        text.append(text: credentials.accessKeyID)
        text.append(UInt8(ascii: "/"))
        text.append(text: moment.scope)
        text.append(text: ", SignedHeaders=")
        text += request.signedHeaders
        text.append(text: ", Signature=")
        text.append(text: signature(request, at: moment))
        return String(decoding: text, as: UTF8.self)
    }

    private func signature(_ request: CanonicalRequest, at moment: SigningDate) -> String {
        var hash = ContentHash()
        request.bytes.withUnsafeBytes { hash.update($0) }
        var text: [UInt8] = []
        text.reserveCapacity(256)
        text.append(text: dialect.algorithm)
        for line in [moment.stamp, moment.scope, hash.hex] {
            text.append(UInt8(ascii: "\n"))
            text.append(text: line)
        }
        return key.signature(of: String(decoding: text, as: UTF8.self), on: moment.day)
    }

    /// The date of a signature in its three text forms, each formatted once.
    private struct SigningDate {
        let stamp: String
        let day: String
        let scope: String

        init(_ time: UTCTime, scopeEnd: String) {
            stamp = time.stamp
            day = time.dayStamp
            scope = day + scopeEnd
        }
    }
}
