import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension HTTPResponseHead {
    /// Whether the service has answered, and not a proxy or the sign-in page of a network: every reply of its own has
    /// these fields ("Common REST API response headers").
    var isFromAzure: Bool { headers["x-ms-request-id"] != nil && headers["x-ms-version"] != nil }
}

extension StorageError {
    static func notFromAzure(_ key: ObjectKey?) -> StorageError {
        StorageError(
            .unreachable, "The answer is not from Azure: look whether a proxy or a sign-in page stands before it.",
            key: key)
    }
}
