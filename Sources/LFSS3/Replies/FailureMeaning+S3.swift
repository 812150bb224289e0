import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// What S3's refusals mean.
///
/// Source: "Error responses", list of error codes, in the Amazon S3 API reference; the codes with `XMinio` are MinIO's.
extension FailureMeaning {
    static let clockSkew = FailureMeaning(.unauthorized, "Set this machine's clock.")

    /// What S3 itself says.
    init(_ reply: ErrorReply, status: Int, isAboutObject: Bool) {
        if let meaning = FailureMeaning(code: reply.code) {
            self = meaning
        } else if status == 404, isAboutObject {
            // A name that is not known may speak of anything: the bucket, the upload, the account.
            self.init(.serverError)
        } else {
            self.init(s3Status: status, isAboutObject: isAboutObject)
        }
    }

    /// What something else says that stands where S3 should be.
    init(notS3 response: HTTPResponse) {
        self = FailureMeaning(foreign: response).withAdvice
    }

    /// What a status of S3 says.
    ///
    /// - Parameter isAboutObject: whether the request named a key, so that 404 speaks of the object.
    init(s3Status status: Int, isAboutObject: Bool) {
        self = FailureMeaning(status: status, isAboutObject: isAboutObject).withAdvice
    }

    /// The same with what a user of S3 can do about it, if nothing has been said yet.
    private var withAdvice: FailureMeaning {
        if advice != nil { return self }
        return switch code {
        case .unauthorized: FailureMeaning(code, "Check the access key and the secret access key.")
        case .forbidden: FailureMeaning(code, "Check the credentials, their rights and this machine's clock.")
        case .misconfigured: FailureMeaning(code, "Check the endpoint and the bucket's name.")
        case .noSpace: FailureMeaning(code, "Make room in the bucket, or raise its quota.")
        default: self
        }
    }

    /// nil for a code that only the status can judge.
    init?(code: String) {
        guard let meaning = Self.retryable(code) ?? Self.credentials(code) ?? Self.permanent(code) else { return nil }
        self = meaning
    }

    private static func retryable(_ code: String) -> FailureMeaning? {
        switch code {
        case "SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "TooManyRequests", "Throttling",
            "ThrottlingException", "RequestLimitExceeded", "BandwidthLimitExceeded":
            FailureMeaning(.throttled)
        case "RequestTimeout", "RequestTimeoutException": FailureMeaning(.timeout)
        case "InternalError", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody", "NoSuchUpload":
            FailureMeaning(.serverError)
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "InvalidPart",
            "InvalidPartOrder", "BrokenMPU":
            FailureMeaning(.integrity)
        case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage":
            FailureMeaning(.noSpace, "Make room in the bucket, or raise its quota.")
        default: nil
        }
    }

    private static func credentials(_ code: String) -> FailureMeaning? {
        switch code {
        case "InvalidAccessKeyId":
            FailureMeaning(.unauthorized, "Check the access key and that it belongs to this endpoint.")
        case "SignatureDoesNotMatch":
            FailureMeaning(
                .unauthorized, "Check the secret access key, the region, and that no proxy changes requests.")
        case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken", "InvalidTokenId":
            FailureMeaning(.unauthorized, "Get new temporary credentials.")
        case "RequestTimeTooSkewed", "RequestInTheFuture": clockSkew
        case "RequestExpired": FailureMeaning(.unauthorized, "Check this machine's clock.")
        case "AccessDenied", "AllAccessDisabled", "AccountProblem":
            FailureMeaning(.forbidden, "Allow these credentials to read, write, list and delete in the bucket.")
        default: nil
        }
    }

    private static func permanent(_ code: String) -> FailureMeaning? {
        switch code {
        case "NoSuchKey", "NoSuchVersion": FailureMeaning(.missing)
        case "NoSuchBucket": FailureMeaning(.misconfigured, "Create the bucket, or check its name and the endpoint.")
        case "InvalidBucketName": FailureMeaning(.misconfigured, "Check the bucket's name and the addressing style.")
        case "PermanentRedirect", "TemporaryRedirect", "Redirect":
            FailureMeaning(.misconfigured, "Use the endpoint of the bucket's own region.")
        case "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "InvalidLocationConstraint",
            "InvalidRegionName":
            FailureMeaning(.misconfigured, "Check the region.")
        case "InvalidStorageClass": FailureMeaning(.misconfigured, "Check the storage class.")
        case "AccessControlListNotSupported": FailureMeaning(.misconfigured, "Leave the canned ACL out.")
        case "KMS.NotFoundException", "KMS.DisabledException", "KMS.KMSInvalidStateException":
            FailureMeaning(.misconfigured, "Check the key of the key management service.")
        case "EntityTooLarge", "MaxMessageLengthExceeded": FailureMeaning(.tooLarge)
        case "EntityTooSmall": FailureMeaning(.invalidRequest, "Use larger parts.")
        case "KeyTooLongError": FailureMeaning(.invalidKey, "Use a shorter prefix.")
        case "PreconditionFailed": FailureMeaning(.changed)
        case "NotImplemented", "MethodNotAllowed":
            FailureMeaning(.invalidRequest, "The server does not know this request: name its provider in the options.")
        case "InvalidRequest", "InvalidArgument", "InvalidURI", "MissingContentLength", "MalformedXML",
            "InvalidObjectState", "InvalidRange":
            FailureMeaning(.invalidRequest)
        default: nil
        }
    }
}
