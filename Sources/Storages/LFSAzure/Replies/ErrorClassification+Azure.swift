import LFSHTTPStorage
import LFSStorage

/// The meanings of the service's error codes.
///
/// Sources: "Common REST API error codes" and "Blob service error codes" of the REST reference.
extension ErrorClassification {
    /// Derives the meaning of an error from Azure.
    init(azureCode code: String, status: Int, isAboutObject: Bool) {
        if let meaning = Self.passing(code) ?? Self.access(code) ?? Self.permanent(code) {
            self = meaning
        } else if status == 404 {
            // An unknown code may concern the container, the account or a policy instead of the object.
            self.init(.serverError)
        } else {
            self.init(status: status, isAboutObject: isAboutObject)
        }
    }

    private static func passing(_ code: String) -> ErrorClassification? {
        switch code {
        case "ServerBusy", "TooManyRequests", "AccountBandwidthLimitExceeded", "IngressLimitExceeded":
            ErrorClassification(.throttled)
        case "OperationTimedOut": ErrorClassification(.timeout)
        case "InternalError", "ContainerBeingDeleted", "InvalidBlockList", "InvalidBlobOrBlock",
            "SystemInUse", "BlockCountExceedsLimit", "RequestEntityTooLargeBlockCountExceedsLimit":
            ErrorClassification(.serverError)
        case "Md5Mismatch", "Crc64Mismatch", "InvalidMd5", "Crc64MismatchError": ErrorClassification(.integrity)
        default: nil
        }
    }

    private static func access(_ code: String) -> ErrorClassification? {
        switch code {
        case "AuthenticationFailed":
            ErrorClassification(
                .unauthorized, advice: "Check the key, the signature or the token, and this machine's clock.")
        case "InvalidAuthenticationInfo", "NoAuthenticationInformation", "InvalidBearerToken":
            ErrorClassification(.unauthorized, advice: "Get a new token, or check the credentials.")
        case "AuthorizationFailure":
            ErrorClassification(
                .forbidden, advice: "Check the account's network rules and the permissions of these credentials.")
        case "AuthorizationPermissionMismatch", "InsufficientAccountPermissions", "AuthorizationServiceMismatch",
            "AuthorizationResourceTypeMismatch", "UnauthorizedBlobOverwrite":
            ErrorClassification(
                .forbidden, advice: "Allow these credentials to read, create, write, list and delete in the container.")
        case "AuthorizationProtocolMismatch", "AuthorizationSourceIPMismatch", "KeyBasedAuthenticationNotPermitted",
            "PublicAccessNotPermitted":
            ErrorClassification(.forbidden)
        case "BlobImmutableDueToPolicy", "LeaseIdMissing", "LeaseIdMismatchWithBlobOperation", "LeaseLost",
            "SnapshotsPresent":
            ErrorClassification(.forbidden, advice: "A lease, a policy or a snapshot protects the blob.")
        default: nil
        }
    }

    private static func permanent(_ code: String) -> ErrorClassification? {
        switch code {
        case "BlobNotFound": ErrorClassification(.missing)
        case "ContainerNotFound", "ResourceNotFound":
            ErrorClassification(.misconfigured, advice: "Create the container, or check its name and the endpoint.")
        case "AccountIsDisabled", "ContainerDisabled", "AccountBeingCreated", "InvalidResourceName",
            "AccountRequiresHttps", "FeatureVersionMismatch", "UnsupportedHttpVerb":
            ErrorClassification(.misconfigured, advice: "Check the account, the container's name and the endpoint.")
        case "BlobArchived", "BlobBeingRehydrated":
            ErrorClassification(.archived, advice: "Move the blob to another access tier, which takes hours.")
        case "ConditionNotMet", "BlobAlreadyExists", "BlobModifiedWhileReading": ErrorClassification(.changed)
        case "RequestBodyTooLarge", "EntityTooLarge", "BlockListTooLong": ErrorClassification(.tooLarge)
        case "InvalidRange": ErrorClassification(.rangeRefused)
        case "InvalidBlobType":
            ErrorClassification(.invalidRequest, advice: "The blob under this name is of another type.")
        case "InvalidMetadata", "MetadataTooLarge", "InvalidHeaderValue", "InvalidInput", "InvalidUri",
            "InvalidQueryParameterValue", "MissingRequiredHeader", "UnsupportedHeader", "InvalidXmlDocument",
            "OutOfRangeQueryParameterValue", "BothCrc64AndMd5HeaderPresent":
            ErrorClassification(.invalidRequest)
        default: nil
        }
    }
}
