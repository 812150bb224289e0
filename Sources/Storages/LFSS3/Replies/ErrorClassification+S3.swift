import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The meanings of S3's error codes.
///
/// Source: "Error responses", list of error codes, in the Amazon S3 API reference. The codes with `XMinio` are MinIO's.
extension ErrorClassification {
    static let clockSkew = ErrorClassification(.unauthorized, advice: "Set this machine's clock.")

    /// Derives the meaning of an error from S3.
    init(_ reply: ErrorReply, status: Int, isAboutObject: Bool) {
        if let meaning = ErrorClassification(code: reply.code) {
            self = meaning
        } else if status == 404, isAboutObject {
            // An unknown code may concern the bucket, the upload or the account instead of the object.
            self.init(.serverError)
        } else {
            self.init(s3Status: status, isAboutObject: isAboutObject)
        }
    }

    /// Derives the meaning of a reply from another server in place of S3, such as a proxy.
    init(notS3 response: HTTPResponse) {
        self = ErrorClassification(foreign: response).withAdvice
    }

    /// Derives the meaning of a status from S3.
    ///
    /// - Parameter isAboutObject: true if the request named a key, so that 404 means a missing object.
    init(s3Status status: Int, isAboutObject: Bool) {
        self = ErrorClassification(status: status, isAboutObject: isAboutObject).withAdvice
    }

    /// The same meaning with advice for users of S3, unless it already has advice.
    private var withAdvice: ErrorClassification {
        if advice != nil { return self }
        return switch code {
        case .unauthorized: ErrorClassification(code, advice: "Check the access key and the secret access key.")
        case .forbidden:
            ErrorClassification(code, advice: "Check the credentials, their permissions and this machine's clock.")
        case .misconfigured: ErrorClassification(code, advice: "Check the endpoint and the bucket's name.")
        case .noSpace: ErrorClassification(code, advice: "Make room in the bucket, or raise its quota.")
        default: self
        }
    }

    /// Returns nil for a code whose meaning depends on the status.
    init?(code: String) {
        guard let meaning = Self.retryable(code) ?? Self.credentials(code) ?? Self.permanent(code) else { return nil }
        self = meaning
    }

    private static func retryable(_ code: String) -> ErrorClassification? {
        switch code {
        case "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "TooManyRequests", "Throttling",
            "ThrottlingException", "RequestLimitExceeded", "BandwidthLimitExceeded":
            ErrorClassification(.throttled)
        case "RequestTimeout", "RequestTimeoutException": ErrorClassification(.timeout)
        case "InternalError", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody", "NoSuchUpload":
            ErrorClassification(.serverError)
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "InvalidPart",
            "InvalidPartOrder", "BrokenMPU":
            ErrorClassification(.integrity)
        case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage":
            ErrorClassification(.noSpace, advice: "Make room in the bucket, or raise its quota.")
        default: nil
        }
    }

    private static func credentials(_ code: String) -> ErrorClassification? {
        switch code {
        case "InvalidAccessKeyId":
            ErrorClassification(.unauthorized, advice: "Check the access key and that it belongs to this endpoint.")
        case "SignatureDoesNotMatch":
            ErrorClassification(
                .unauthorized, advice: "Check the secret access key, the region, and that no proxy changes requests.")
        case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidTokenId":
            ErrorClassification(.unauthorized, advice: "Get new temporary credentials.")
        case "RequestTimeTooSkewed", "RequestInTheFuture": clockSkew
        case "RequestExpired": ErrorClassification(.unauthorized, advice: "Check this machine's clock.")
        case "AccessDenied", "AllAccessDisabled", "AccountProblem":
            ErrorClassification(
                .forbidden, advice: "Allow these credentials to read, write, list and delete in the bucket.")
        default: nil
        }
    }

    private static func permanent(_ code: String) -> ErrorClassification? {
        switch code {
        case "NoSuchKey", "NoSuchVersion": ErrorClassification(.missing)
        case "NoSuchBucket":
            ErrorClassification(.misconfigured, advice: "Create the bucket, or check its name and the endpoint.")
        case "InvalidBucketName":
            ErrorClassification(.misconfigured, advice: "Check the bucket's name and the addressing style.")
        case "PermanentRedirect", "TemporaryRedirect", "Redirect":
            ErrorClassification(.misconfigured, advice: "Use the endpoint of the bucket's own region.")
        case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidLocationConstraint",
            "InvalidRegionName":
            ErrorClassification(.misconfigured, advice: "Check the region.")
        case "InvalidStorageClass": ErrorClassification(.misconfigured, advice: "Check the storage class.")
        case "AccessControlListNotSupported": ErrorClassification(.misconfigured, advice: "Leave the canned ACL out.")
        case "KMS.NotFoundException", "KMS.DisabledException", "KMS.KMSInvalidStateException":
            ErrorClassification(.misconfigured, advice: "Check the key of the key management service.")
        case "EntityTooLarge", "MaxMessageLengthExceeded": ErrorClassification(.tooLarge)
        case "EntityTooSmall": ErrorClassification(.invalidRequest, advice: "Use larger parts.")
        case "KeyTooLongError": ErrorClassification(.invalidKey, advice: "Use a shorter prefix.")
        case "PreconditionFailed": ErrorClassification(.changed)
        case "NotImplemented", "MethodNotAllowed":
            ErrorClassification(
                .invalidRequest, advice: "The server does not support this request: name its provider in the options.")
        case "InvalidObjectState": ErrorClassification(.archived)
        case "InvalidRequest", "InvalidArgument", "InvalidURI", "MissingContentLength", "MalformedXML",
            "InvalidRange":
            ErrorClassification(.invalidRequest)
        default: nil
        }
    }
}
