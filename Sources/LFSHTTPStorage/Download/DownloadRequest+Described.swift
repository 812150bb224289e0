package import LFSHTTP
package import LFSStorage

extension DownloadRequest {
    /// What a server has described, if it is the object that is asked for, as far as the server knows entity tags.
    ///
    /// - Throws: `StorageError.Code.changed`.
    package func requireAsked(_ object: RemoteObject) throws(StorageError) -> RemoteObject {
        guard let tag = entityTag.flatMap(EntityTag.init), let found = object.entityTag, found != tag.text
        else { return object }
        throw StorageError.changed(key)
    }
}

extension HTTPResponseHead {
    /// The size of the object of which the reply has all or a part; nil when it does not say.
    package var wholeByteCount: Int64? { headers["content-range"].flatMap(ContentRange.init)?.total ?? contentLength }
}
