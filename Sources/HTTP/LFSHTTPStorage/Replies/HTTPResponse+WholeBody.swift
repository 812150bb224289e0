package import LFSHTTP
package import LFSStorage

extension HTTPResponse {
    /// Requires that the server had read the request's whole body when it answered. An earlier success is not reliable,
    /// because the server cannot know all bytes that it stored.
    ///
    /// - Parameter key: the object of the request.
    /// - Throws: ``StorageError/Code/serverError``.
    package func requireWhole(_ body: RequestBody, of key: ObjectKey?) throws(StorageError) {
        guard bytesSent == body.byteCount || body.byteCount == 0 else {
            throw StorageError(
                .serverError, message: "The server answered \(status) after \(bytesSent) of \(body.byteCount) bytes.",
                key: key)
        }
    }
}
