package import Foundation
package import LFSHTTP
import LFSHTTPStorage
package import LFSStorage
import LFSSystem

/// A request that S3 refused: what it said, and what that means to this package.
package struct S3Failure: Error, Sendable, CustomStringConvertible {
    package let status: Int
    /// S3's name for the failure; nil when the reply had none, as after a HEAD.
    package let code: String?
    /// The region that the bucket is in, when the server names one.
    package let region: String?
    /// The server's time when it answered.
    package let serverDate: Date?
    /// Whether the server refused the signature for its date: sign again with the server's time.
    package let isClockSkew: Bool
    /// Whether the credentials were refused: they have ended, were taken back or are wrong. Ask the provider for
    /// others.
    package let isAboutCredentials: Bool
    private let error: StorageError

    /// The failure in the terms of the contract; this value is its cause.
    package var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    package var description: String { error.message }

    /// Judges by S3's code first and by the status second.
    ///
    /// - Parameters:
    ///   - reply: the reply's body; nil after a HEAD, whose answer has none.
    ///   - key: the object that the request was about, nil for a bucket.
    ///   - date: the date of the request's signature.
    ///   - credentials: what signed it, so that no message shows their secret.
    package init(
        _ head: HTTPResponseHead, reply: ErrorReply?, key: ObjectKey? = nil, signedAt date: Date = Date(),
        credentials: S3Credentials? = nil
    ) {
        status = head.status
        code = reply?.code
        region = (head.headers["x-amz-bucket-region"] ?? reply?.region).flatMap(Self.region)
        serverDate = head.headers["date"].flatMap { HTTPDate.parse($0, now: date) }
        if let reply {
            isClockSkew = Self.skewCodes.contains(reply.code)
        } else {
            // The answer to a HEAD has no body that could tell. S3 allows 15 minutes.
            let difference = serverDate.map { abs($0.timeIntervalSince(date)) } ?? 0
            isClockSkew = head.status == 403 && difference > 900
        }
        let meaning =
            reply.map { FailureMeaning($0, status: head.status, isAboutObject: key != nil) }
            ?? (isClockSkew
                ? FailureMeaning.clockSkew : FailureMeaning(s3Status: head.status, isAboutObject: key != nil))
        isAboutCredentials = meaning.code == .unauthorized && !isClockSkew
        let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
        var message = "S3 answered \(head.status)"
        if let reply { message += " \(ServerText.explanation(reply.code, hiding: secrets))" }
        if let text = reply?.message.map({ ServerText.explanation($0, hiding: secrets) }), !text.isEmpty {
            message += ": \(text)"
        }
        if !".!?…".contains(message.last ?? ".") { message += "." }
        if reply?.code == "InvalidObjectState" {
            message += " \(Self.archiveAdvice(reply?.storageClass))"
        }
        if let advice = meaning.advice { message += " \(advice)" }
        if let region, meaning.code == .misconfigured { message += " The bucket is in the region '\(region)'." }
        error = StorageError(
            meaning.code, message, key: key, retryAfter: RetryAfter.parse(head.headers, now: date))
    }

    /// Judges a whole response.
    ///
    /// Only S3's own XML speaks for S3. Any other body, and none, is the word of a proxy or of a sign-in page: it can
    /// name a reason to wait, and is never taken for a fact about an object, an upload or a bucket.
    /// - Parameter isBodiless: whether it answers a HEAD, which leaves nothing to go by but the status.
    package init(
        _ response: HTTPResponse, key: ObjectKey? = nil, signedAt date: Date = Date(),
        credentials: S3Credentials? = nil, isBodiless: Bool = false
    ) {
        do {
            let reply = isBodiless ? nil : try ErrorReply(response.body)
            self.init(response.head, reply: reply, key: key, signedAt: date, credentials: credentials)
        } catch {
            self.init(response, notS3: error, key: key, signedAt: date, credentials: credentials)
        }
    }

    private init(
        _ response: HTTPResponse, notS3 reason: StorageError, key: ObjectKey?, signedAt date: Date,
        credentials: S3Credentials?
    ) {
        status = response.status
        (code, region, serverDate) = (nil, nil, nil)
        let meaning = FailureMeaning(notS3: response)
        (isClockSkew, isAboutCredentials) = (false, meaning.code == .unauthorized)
        let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
        let parts = [
            "S3 did not answer; what did said \(status).", ServerText.explanation(reason.message, hiding: secrets),
            meaning.advice,
        ]
        error = StorageError(
            meaning.code, parts.compactMap(\.self).joined(separator: " "), key: key,
            retryAfter: RetryAfter.parse(response.headers, now: date))
    }

    /// Source: "Restoring an archived object" in the Amazon S3 user guide.
    private static func archiveAdvice(_ storageClass: String?) -> String {
        let place = storageClass.map { " in the storage class \(ServerText.explanation($0))" } ?? ""
        return """
            The object is archived\(place) and cannot be read before it is restored: request that, as 'aws s3api \
            restore-object' does, and try again when it is done, which takes minutes to two days.
            """
    }

    private static let skewCodes: Set<String> = ["RequestTimeTooSkewed", "RequestInTheFuture"]

    /// A region's name as it may stand in a signature: what a server says is not trusted to be one.
    private static func region(_ text: String) -> String? {
        let isName = text.utf8.allSatisfy { $0.isLowercaseLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
        return isName && (1...64).contains(text.utf8.count) ? text : nil
    }
}
