import Foundation
public import LFSStorage

extension WebDAVStorage {
    /// The folder of a URL, with the credentials of the environment.
    ///
    /// - Parameters:
    ///   - url: where the folder is.
    ///   - options: what the URL says goes before them.
    /// - Throws: `StorageError.Code.invalidRequest` for a URL that cannot be one.
    public convenience init(
        _ url: WebDAVURL, options: WebDAVOptions = WebDAVOptions()
    ) throws(StorageError) {
        var options = options
        if let readsBack = url.readsBack { options.readsBack = readsBack }
        if url.folder.scheme == "http" { options.allowsPlainHTTP = true }
        try self.init(url: url.folder, options: options)
    }
}
