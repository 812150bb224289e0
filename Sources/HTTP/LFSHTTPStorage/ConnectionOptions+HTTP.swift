package import LFSHTTP
package import LFSStorage

extension ConnectionOptions {
    /// Validates the server before the first request.
    ///
    /// - Parameter type: the name of the options type, for the message.
    /// - Throws: ``StorageError/Code/invalidRequest`` for an unencrypted connection that the options do not allow.
    package func check(_ origin: HTTPOrigin, type: String) throws(StorageError) {
        guard origin.isPermitted(allowsPlainHTTP: allowsPlainHTTP) else {
            throw StorageError(
                .invalidRequest, message: "\(origin) is not encrypted. Use https, or set \(type).allowsPlainHTTP.")
        }
    }
}

extension HTTPOptions {
    /// Creates an engine's options from the options of a storage.
    package init(_ options: ConnectionOptions) {
        self.init()
        engine =
            switch options.engine {
            case .platform: .platform
            case .curl: .curl
            case .urlSession: .urlSession
            }
        allowsPlainHTTP = options.allowsPlainHTTP
        certificateAuthorities = options.certificateAuthorities
        clientCertificate = options.clientCertificate.map { .init(Array($0.data), password: $0.password) }
        proxy = options.usesProxyFromEnvironment ? .environment : .none
        connectTimeout = options.connectTimeout
        stallTimeout = options.stallTimeout
        sendLimit = options.uploadLimit
        receiveLimit = options.downloadLimit
    }
}
