import Foundation
public import LFSStorage

extension WebDAVStorage {
    /// Creates the storage of a URL, with the credentials of the environment.
    ///
    /// - Parameters:
    ///   - url: the URL of the folder.
    ///   - options: the options. Settings in the URL override them.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid URL.
    public convenience init(
        _ url: WebDAVURL, options: WebDAVOptions = WebDAVOptions()
    ) throws(StorageError) {
        var options = options
        if let readsBack = url.readsBack { options.readsBack = readsBack }
        if url.folder.scheme == "http" { options.allowsPlainHTTP = true }
        try self.init(url: url.folder, options: options)
    }
}
