package import LFSHTTP
package import LFSStorage

extension DownloadRequest {
    /// Returns the object that a server described if it is the requested version. Servers without entity tags pass.
    ///
    /// - Throws: `StorageError.Code.changed`.
    package func requireAsked(_ object: RemoteObject) throws(StorageError) -> RemoteObject {
        guard let tag = entityTag.flatMap(EntityTag.init), let found = object.entityTag, found != tag.text
        else { return object }
        throw StorageError.changed(key)
    }
}

extension HTTPResponseHead {
    /// The size of the whole object that the reply contains fully or in part. nil if the reply does not state it.
    package var wholeByteCount: Int64? { headers["content-range"].flatMap(ContentRange.init)?.total ?? contentLength }
}
