import LFSHTTP
import LFSStorage

/// What a refusal means to this package, and what can be done about it.
///
/// Source: "Error responses", list of error codes, in the Amazon S3 API reference; the codes with `XMinio` are MinIO's.
struct FailureMeaning {
    let code: StorageError.Code
    let advice: String?

    init(_ code: StorageError.Code, _ advice: String? = nil) {
        self.code = code
        self.advice = advice
    }

    static let clockSkew = FailureMeaning(.unauthorized, "Set this machine's clock.")

    /// What S3 itself says.
    init(_ reply: ErrorReply, status: Int, isAboutObject: Bool) {
        if let meaning = FailureMeaning(code: reply.code) {
            self = meaning
        } else if status == 404, isAboutObject {
            // A name that is not known may speak of anything: the bucket, the upload, the account.
            self.init(.serverError)
        } else {
            self.init(status: status, isAboutObject: isAboutObject)
        }
    }

    /// What something else says that stands where S3 should be: a proxy, a sign-in page, a server that is no S3.
    ///
    /// It is about the storage as a whole, unless the status can only be about this request.
    init(foreign response: HTTPResponse) {
        let advice = "Look what stands between here and the endpoint: a proxy, or the sign-in page of a network."
        self =
            switch response.status {
            case 400 where Self.wantsTLS(response.body):
                FailureMeaning(.misconfigured, "The port expects encryption: write https in the endpoint.")
            case 300..<400, 403, 404, 405, 407, 451, 511: FailureMeaning(.unreachable, advice)
            case 401, 408, 409, 412, 413, 425, 429, 500, 502..<505, 506...:
                FailureMeaning(status: response.status, isAboutObject: false)
            default: FailureMeaning(.serverError, advice)
            }
    }

    /// Whether a server says that plain HTTP has come to a port for TLS: nginx, Apache and Go's have such a page.
    private static func wantsTLS(_ body: [UInt8]) -> Bool {
        let text = String(decoding: body.prefix(2_000), as: UTF8.self)
        return [
            "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
            "HTTP request to an HTTPS server",
        ].contains { text.contains($0) }
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

    /// - Parameter isAboutObject: whether the request named a key, so that 404 speaks of the object.
    init(status: Int, isAboutObject: Bool) {
        self =
            switch status {
            case 401: FailureMeaning(.unauthorized, "Check the access key and the secret access key.")
            case 403: FailureMeaning(.forbidden, "Check the credentials, their rights and this machine's clock.")
            case 404 where isAboutObject: FailureMeaning(.missing)
            case 404: FailureMeaning(.misconfigured, "Check the endpoint and the bucket's name.")
            case 408, 504: FailureMeaning(.timeout)
            case 409, 425: FailureMeaning(.serverError)
            case 412: FailureMeaning(.changed)
            case 413: FailureMeaning(.tooLarge)
            case 429: FailureMeaning(.throttled)
            case 507: FailureMeaning(.noSpace, "Make room in the bucket, or raise its quota.")
            case 300..<400: FailureMeaning(.invalidRequest, "Use the endpoint that it redirects to, if you trust it.")
            case 501, 505: FailureMeaning(.invalidRequest, "The server does not know this request.")
            case 400..<500: FailureMeaning(.invalidRequest)
            default: FailureMeaning(.serverError)
            }
    }
}
