package import Foundation
package import LFSHTTP
import LFSHTTPStorage
package import LFSStorage
import LFSSystem

/// An error reply from S3, and its meaning for this package.
package struct S3Failure: Error, Sendable, CustomStringConvertible {
    package let status: Int
    /// S3's name for the error. nil if the reply has none, as after a HEAD.
    package let code: String?
    /// The region of the bucket, if the server names one.
    package let region: String?
    /// The server's time when it answered.
    package let serverDate: Date?
    /// True if the server refused the signature because of its date. Sign again with the server's time.
    package let isClockSkew: Bool
    /// True if the credentials were refused because they are expired, revoked or wrong. Ask the provider for new ones.
    package let isAboutCredentials: Bool
    private let error: StorageError

    /// The error in the terms of the storage contract. This value is its cause.
    package var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    package var description: String { error.message }

    /// True if a condition of the request was not met.
    var isUnmetCondition: Bool { status == 412 && error.code == .changed }

    /// Derives the meaning from S3's code, and otherwise from the status.
    ///
    /// - Parameters:
    ///   - reply: the parsed body. nil after a HEAD, whose reply has no body.
    ///   - key: the object of the request, or nil for a bucket.
    ///   - date: the date of the request's signature.
    ///   - credentials: the credentials of the signature. Messages never show their secrets.
    ///   - hasCondition: whether the request had a condition that could fail.
    package init(
        _ head: HTTPResponseHead, reply: ErrorReply?, key: ObjectKey? = nil, signedAt date: Date = Date(),
        credentials: S3Credentials? = nil, hasCondition: Bool = true
    ) {
        status = head.status
        code = reply?.code
        region = (head.headers["x-amz-bucket-region"] ?? reply?.region).flatMap(Self.region)
        serverDate = head.headers["date"].flatMap { HTTPDate.parse($0, now: date) }
        if let reply {
            isClockSkew = Self.skewCodes.contains(reply.code)
        } else {
            // The reply to a HEAD has no body with a reason. S3 accepts a difference of 15 minutes.
            let difference = serverDate.map { abs($0.timeIntervalSince(date)) } ?? 0
            isClockSkew = head.status == 403 && difference > 900
        }
        let stated =
            reply.map { ErrorClassification($0, status: head.status, isAboutObject: key != nil) }
            ?? (isClockSkew
                ? ErrorClassification.clockSkew : ErrorClassification(s3Status: head.status, isAboutObject: key != nil))
        let meaning = stated.checked(status: head.status, hasCondition: hasCondition)
        isAboutCredentials = meaning.code == .unauthorized && !isClockSkew
        let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
        var message = "S3 answered \(head.status)"
        if let reply { message += " \(SanitizedErrorText.explanation(reply.code, hiding: secrets))" }
        if let text = reply?.message.map({ SanitizedErrorText.explanation($0, hiding: secrets) }), !text.isEmpty {
            message += ": \(text)"
        }
        if !".!?…".contains(message.last ?? ".") { message += "." }
        if reply?.code == "InvalidObjectState" {
            message += " \(Self.archiveAdvice(reply?.storageClass))"
        }
        if let advice = meaning.advice { message += " \(advice)" }
        if let region, meaning.code == .misconfigured { message += " The bucket is in the region '\(region)'." }
        error = StorageError(
            meaning.code, message: message, key: key, retryAfter: RetryAfter.parse(head.headers, now: date))
    }

    /// Derives the meaning of a complete reply.
    ///
    /// Only XML errors come from S3. Any other body, and an empty one, comes from a proxy or a sign-in page. Such a
    /// reply can be a reason to wait, but it never counts as a fact about an object, an upload or a bucket.
    ///
    /// - Parameters:
    ///   - isBodiless: true for the reply to a HEAD, where only the status is available.
    ///   - hasCondition: whether the request had a condition that could fail.
    package init(
        _ response: HTTPResponse, key: ObjectKey? = nil, signedAt date: Date = Date(),
        credentials: S3Credentials? = nil, isBodiless: Bool = false, hasCondition: Bool = true
    ) {
        do {
            let reply = isBodiless ? nil : try ErrorReply(response.body)
            self.init(
                response.head, reply: reply, key: key, signedAt: date, credentials: credentials,
                hasCondition: hasCondition)
        } catch {
            self.init(
                response, notS3: error, key: key, signedAt: date, credentials: credentials, hasCondition: hasCondition)
        }
    }

    private init(
        _ response: HTTPResponse, notS3 reason: StorageError, key: ObjectKey?, signedAt date: Date,
        credentials: S3Credentials?, hasCondition: Bool
    ) {
        status = response.status
        code = nil
        region = nil
        serverDate = nil
        let meaning = ErrorClassification(notS3: response)
            .checked(status: response.status, hasCondition: hasCondition)
        isClockSkew = false
        isAboutCredentials = meaning.code == .unauthorized
        let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
        let parts = [
            "Something other than S3 answered \(status).",
            SanitizedErrorText.explanation(reason.message, hiding: secrets),
            meaning.advice,
        ]
        error = StorageError(
            meaning.code, message: parts.compactMap(\.self).joined(separator: " "), key: key,
            retryAfter: RetryAfter.parse(response.headers, now: date))
    }

    /// Returns the advice for an archived object. Source: "Restoring an archived object" in the Amazon S3 user guide.
    private static func archiveAdvice(_ storageClass: String?) -> String {
        let place = storageClass.map { " in the storage class \(SanitizedErrorText.explanation($0))" } ?? ""
        return """
            The object is archived\(place) and must be restored before it can be read. Request that, for example with \
            'aws s3api restore-object', and try again when it is done, which takes minutes to two days.
            """
    }

    private static let skewCodes: Set<String> = ["RequestTimeTooSkewed", "RequestInTheFuture"]

    /// Accepts a name that is valid in a signature, because the server's text is untrusted.
    private static func region(_ text: String) -> String? {
        let isName = text.utf8.allSatisfy { $0.isLowercaseLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
        return isName && (1...64).contains(text.utf8.count) ? text : nil
    }
}
