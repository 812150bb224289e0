import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension HTTPResponseHead {
    /// True if the service sent the reply, and not a proxy or a sign-in page. Each of its replies has these fields
    /// ("Common REST API response headers").
    var isFromAzure: Bool { headers["x-ms-request-id"] != nil && headers["x-ms-version"] != nil }
}

extension StorageError {
    static func notFromAzure(_ key: ObjectKey?) -> StorageError {
        StorageError(
            .unreachable,
            message: "The reply is not from Azure. Check for a proxy or a sign-in page in front of it.",
            key: key)
    }
}
