import Foundation
public import LFSStorage

extension SignedURLStorage {
    /// Creates the storage of a URL, with `LFS_TOKEN` of the environment.
    ///
    /// - Parameters:
    ///   - url: the URL of the signing server.
    ///   - options: the options. Settings in the URL override them.
    /// - Throws: `StorageError.Code.invalidRequest` for an invalid URL.
    public convenience init(
        _ url: SigningServerURL, options: SignedURLOptions = SignedURLOptions()
    ) throws(StorageError) {
        var options = options
        if url.server.scheme == "http" { options.allowsPlainHTTP = true }
        try self.init(server: url.server, authorization: .environment, options: options)
    }
}
