import LFSHTTPStorage
import LFSStorage

/// What the service's refusals mean.
///
/// Sources: "Common REST API error codes" and "Blob service error codes" of the REST reference.
extension FailureMeaning {
    /// What Azure itself says.
    init(azureCode code: String, status: Int, isAboutObject: Bool) {
        if let meaning = Self.passing(code) ?? Self.access(code) ?? Self.permanent(code) {
            self = meaning
        } else if status == 404 {
            // A name that is not known may speak of anything: the container, the account, a policy.
            self.init(.serverError)
        } else {
            self.init(status: status, isAboutObject: isAboutObject)
        }
    }

    private static func passing(_ code: String) -> FailureMeaning? {
        switch code {
        case "ServerBusy", "TooManyRequests", "AccountBandwidthLimitExceeded", "IngressLimitExceeded":
            FailureMeaning(.throttled)
        case "OperationTimedOut": FailureMeaning(.timeout)
        case "InternalError", "ContainerBeingDeleted", "InvalidBlockList", "InvalidBlobOrBlock",
            "SystemInUse", "BlockCountExceedsLimit", "RequestEntityTooLargeBlockCountExceedsLimit":
            FailureMeaning(.serverError)
        case "Md5Mismatch", "Crc64Mismatch", "InvalidMd5", "Crc64MismatchError": FailureMeaning(.integrity)
        default: nil
        }
    }

    private static func access(_ code: String) -> FailureMeaning? {
        switch code {
        case "AuthenticationFailed":
            FailureMeaning(.unauthorized, "Check the key, the signature or the token, and this machine's clock.")
        case "InvalidAuthenticationInfo", "NoAuthenticationInformation", "InvalidBearerToken":
            FailureMeaning(.unauthorized, "Get a new token, or check the credentials.")
        case "AuthorizationFailure":
            FailureMeaning(.forbidden, "Check the account's network rules and the rights of these credentials.")
        case "AuthorizationPermissionMismatch", "InsufficientAccountPermissions", "AuthorizationServiceMismatch",
            "AuthorizationResourceTypeMismatch", "UnauthorizedBlobOverwrite":
            FailureMeaning(
                .forbidden, "Allow these credentials to read, create, write, list and delete in the container.")
        case "AuthorizationProtocolMismatch", "AuthorizationSourceIPMismatch", "KeyBasedAuthenticationNotPermitted",
            "PublicAccessNotPermitted":
            FailureMeaning(.forbidden)
        case "BlobImmutableDueToPolicy", "LeaseIdMissing", "LeaseIdMismatchWithBlobOperation", "LeaseLost",
            "BlobArchived", "BlobBeingRehydrated", "SnapshotsPresent":
            FailureMeaning(.forbidden, "Something holds the blob: a lease, a policy, or an archive.")
        default: nil
        }
    }

    private static func permanent(_ code: String) -> FailureMeaning? {
        switch code {
        case "BlobNotFound": FailureMeaning(.missing)
        case "ContainerNotFound", "ResourceNotFound":
            FailureMeaning(.misconfigured, "Create the container, or check its name and the endpoint.")
        case "AccountIsDisabled", "ContainerDisabled", "AccountBeingCreated", "InvalidResourceName",
            "AccountRequiresHttps", "FeatureVersionMismatch", "UnsupportedHttpVerb":
            FailureMeaning(.misconfigured, "Check the account, the container's name and the endpoint.")
        case "ConditionNotMet", "BlobAlreadyExists", "BlobModifiedWhileReading": FailureMeaning(.changed)
        case "RequestBodyTooLarge", "EntityTooLarge", "BlockListTooLong": FailureMeaning(.tooLarge)
        case "InvalidRange": FailureMeaning(.rangeRefused)
        case "InvalidBlobType": FailureMeaning(.invalidRequest, "The blob under this name is of another type.")
        case "InvalidMetadata", "MetadataTooLarge", "InvalidHeaderValue", "InvalidInput", "InvalidUri",
            "InvalidQueryParameterValue", "MissingRequiredHeader", "UnsupportedHeader", "InvalidXmlDocument",
            "OutOfRangeQueryParameterValue", "BothCrc64AndMd5HeaderPresent":
            FailureMeaning(.invalidRequest)
        default: nil
        }
    }
}
