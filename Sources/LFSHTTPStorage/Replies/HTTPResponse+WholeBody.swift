package import LFSHTTP
package import LFSStorage

extension HTTPResponse {
    /// Looks whether the server had read the request's whole body when it answered. A success that came before is none:
    /// the server cannot know what it stored.
    ///
    /// - Parameter key: the object that the request was about.
    /// - Throws: ``StorageError/Code/serverError``.
    package func requireWhole(_ body: RequestBody, of key: ObjectKey?) throws(StorageError) {
        guard bytesSent == body.byteCount || body.byteCount == 0 else {
            throw StorageError(
                .serverError, "The server answered \(status) after \(bytesSent) of \(body.byteCount) bytes.",
                key: key)
        }
    }
}
