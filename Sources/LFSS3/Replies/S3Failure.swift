package import Foundation
package import LFSHTTP
package import LFSStorage

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
    /// Whether temporary credentials have ended: ask the provider for new ones.
    package let isExpiredCredentials: Bool
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
    ///   - reply: the reply's body, when it could be read.
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
        isExpiredCredentials = reply.map { Self.expiryCodes.contains($0.code) } ?? false
        if let reply {
            isClockSkew = Self.skewCodes.contains(reply.code)
        } else {
            // The answer to a HEAD has no body that could tell. S3 allows 15 minutes.
            let difference = serverDate.map { abs($0.timeIntervalSince(date)) } ?? 0
            isClockSkew = head.status == 403 && difference > 900
        }
        let meaning =
            reply.flatMap { FailureMeaning(code: $0.code) }
            ?? FailureMeaning(status: head.status, isAboutObject: key != nil)
        let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
        var message = "S3 answered \(head.status)"
        if let reply { message += " \(ServerText.explanation(reply.code, hiding: secrets))" }
        if let text = reply?.message.map({ ServerText.explanation($0, hiding: secrets) }), !text.isEmpty {
            message += ": \(text)"
        }
        if !".!?…".contains(message.last ?? ".") { message += "." }
        if let advice = meaning.advice { message += " \(advice)" }
        if let region, meaning.code == .invalidRequest { message += " The bucket is in the region '\(region)'." }
        error = StorageError(
            meaning.code, message, key: key, retryAfter: RetryAfter.parse(head.headers, now: date))
    }

    /// Judges a whole response. A body that is not S3's XML is left to the status, and its beginning is told.
    package init(
        _ response: HTTPResponse, key: ObjectKey? = nil, signedAt date: Date = Date(),
        credentials: S3Credentials? = nil
    ) {
        do {
            let reply = response.body.isEmpty ? nil : try ErrorReply(response.body)
            self.init(response.head, reply: reply, key: key, signedAt: date, credentials: credentials)
        } catch {
            self.init(response.head, reply: nil, key: key, signedAt: date, credentials: credentials)
            let secrets = [credentials?.secretAccessKey, credentials?.sessionToken].compactMap(\.self)
            let text = ServerText.explanation(error.message, hiding: secrets)
            self = S3Failure(self, message: "\(self.error.message) \(text)")
        }
    }

    private init(_ other: S3Failure, message: String) {
        status = other.status
        code = other.code
        region = other.region
        serverDate = other.serverDate
        isClockSkew = other.isClockSkew
        isExpiredCredentials = other.isExpiredCredentials
        error = StorageError(
            other.error.code, message, key: other.error.key, retryAfter: other.error.retryAfter)
    }

    private static let expiryCodes: Set<String> = [
        "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidTokenId",
    ]
    private static let skewCodes: Set<String> = ["RequestTimeTooSkewed", "RequestInTheFuture"]

    /// A region's name as it may stand in a signature: what a server says is not trusted to be one.
    private static func region(_ text: String) -> String? {
        let isName = text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-")
        }
        return isName && (1...64).contains(text.utf8.count) ? text : nil
    }
}
