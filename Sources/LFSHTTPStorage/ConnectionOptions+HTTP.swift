package import LFSHTTP
package import LFSStorage

extension ConnectionOptions {
    /// Looks at the server before anything is asked of it.
    ///
    /// - Parameter type: the name of the options that a user has set.
    /// - Throws: ``StorageError/Code/invalidRequest`` for a way that is not encrypted and not allowed.
    package func check(_ origin: HTTPOrigin, _ type: String) throws(StorageError) {
        guard origin.isPermitted(allowsPlainHTTP: allowsPlainHTTP) else {
            throw StorageError(
                .invalidRequest, "\(origin) is not encrypted. Use https, or set \(type).allowsPlainHTTP.")
        }
    }
}

extension HTTPOptions {
    /// What an engine needs of a storage's options.
    package init(_ options: ConnectionOptions) {
        self.init()
        allowsPlainHTTP = options.allowsPlainHTTP
        certificateAuthorities = options.certificateAuthorities
        clientCertificate = options.clientCertificate.map { .init(certificate: $0.certificate, key: $0.key) }
        proxy = options.usesProxyFromEnvironment ? .environment : .none
        connectTimeout = options.connectTimeout
        stallTimeout = options.stallTimeout
        sendLimit = options.uploadLimit
        receiveLimit = options.downloadLimit
    }
}
