import Foundation
public import LFSStorage

extension SignedURLStorage {
    /// The store behind the signing server of a URL, with `LFS_TOKEN` of the environment.
    ///
    /// - Parameters:
    ///   - url: where the server is.
    ///   - options: what the URL says goes before them.
    /// - Throws: `StorageError.Code.invalidRequest` for a URL that cannot be one.
    public convenience init(
        _ url: SigningServerURL, options: SignedURLOptions = SignedURLOptions()
    ) throws(StorageError) {
        var options = options
        if url.server.scheme == "http" { options.allowsPlainHTTP = true }
        try self.init(server: url.server, authorization: .environment, options: options)
    }
}
