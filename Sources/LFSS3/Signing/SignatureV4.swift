import Crypto
package import Foundation
package import LFSHTTP
import LFSHTTPStorage
import LFSSystem

/// Signs requests with AWS Signature Version 4 by the rules of S3: the path is encoded once and never normalised, and
/// `x-amz-content-sha256` is part of what is signed. Google's is the same with other names (``S3Dialect``).
///
/// Source: "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API reference.
package struct SignatureV4: Sendable {
    /// The payload hash that says that the body is not signed. For connections under TLS only.
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"
    /// SHA-256 of no bytes.
    package static let emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    package let credentials: S3Credentials
    package let region: String
    package let dialect: S3Dialect
    /// The credential scope behind the day.
    private let scopeEnd: String
    private let key: SigningKey

    /// One value serves all requests with the same credentials; it keeps the derived key of the day.
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

    /// Adds `x-amz-date`, `x-amz-content-sha256`, `x-amz-security-token` for temporary credentials, and
    /// `Authorization` to a request, in the words of the dialect.
    ///
    /// Signed are host, content-type, content-md5, date, range and all fields that begin with `if-`, `x-amz-` or
    /// `x-goog-`.
    /// Others, `accept-encoding` and `user-agent` among them, may change on the way.
    /// - Parameters:
    ///   - path: percent-encoded, exactly as it goes out.
    ///   - query: not encoded; the target has to carry it as ``PercentEncoding`` writes it.
    ///   - headers: a `host` field in them counts instead of the origin's name.
    ///   - payloadHash: SHA-256 of the body in lowercase hex, or ``unsignedPayload``.
    /// - Throws: ``HTTPError/Code/invalidRequest`` for credentials that cannot stand in a header field, and for an
    ///   unsigned payload without TLS.
    package func sign(
        _ method: HTTPRequest.Method, _ origin: HTTPOrigin, path: String, query: [(name: String, value: String)] = [],
        headers: inout HTTPHeaders, payloadHash: String, date: Date
    ) throws(HTTPError) {
        guard origin.isSecure || payloadHash != Self.unsignedPayload else {
            throw HTTPError(.invalidRequest, "A body that is not signed goes to \(origin) under TLS only: use https.")
        }
        let moment = Moment(UTCTime(date), scopeEnd)
        let prefix = dialect.fieldPrefix
        try headers.set(prefix + "date", moment.stamp)
        try headers.set(prefix + "content-sha256", payloadHash)
        if let token = credentials.sessionToken { try headers.set(prefix + "security-token", token) }
        let request = CanonicalRequest(
            method: method, path: path, query: PercentEncoding.canonicalQuery(query), host: origin.authority,
            headers: headers, payloadHash: payloadHash)
        try headers.set("authorization", authorization(request, at: moment))
    }

    /// The query of a URL that anybody may use for a while, without its `?`.
    ///
    /// The body stays unsigned, but a checksum among the fields binds it where the server compares. The result is a
    /// secret until it has expired: it is not to be stored or logged.
    /// - Parameters:
    ///   - headers: fields that the request must carry with these values, `content-length` among them. All are signed.
    ///   - expires: 1 second to 7 days, in whole seconds; temporary credentials may end before.
    /// - Throws: ``HTTPError/Code/invalidRequest`` for another time span.
    package func presign(
        _ method: HTTPRequest.Method, _ origin: HTTPOrigin, path: String,
        query: [(name: String, value: String)] = [], headers: HTTPHeaders = [:], expires: Duration, date: Date
    ) throws(HTTPError) -> String {
        let seconds = expires.components.seconds
        guard (1...604_800).contains(seconds) else {
            throw HTTPError(.invalidRequest, "A signed URL lives between 1 second and 7 days.")
        }
        let moment = Moment(UTCTime(date), scopeEnd)
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

    /// The value of the `Authorization` field.
    func authorization(_ request: CanonicalRequest, at time: UTCTime) -> String {
        authorization(request, at: Moment(time, scopeEnd))
    }

    private func authorization(_ request: CanonicalRequest, at moment: Moment) -> String {
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

    private func signature(_ request: CanonicalRequest, at moment: Moment) -> String {
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

    /// The date of a signature in the three ways that it is written, each written once.
    private struct Moment {
        let stamp: String
        let day: String
        let scope: String

        init(_ time: UTCTime, _ scopeEnd: String) {
            stamp = time.stamp
            day = time.dayStamp
            scope = day + scopeEnd
        }
    }
}
