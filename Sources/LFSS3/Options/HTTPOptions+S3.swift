import LFSHTTP

extension HTTPOptions {
    init(_ options: S3Options) {
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
