/// How a storage on a server connects. The defaults suit most apps.
public struct ConnectionOptions: Hashable, Sendable {
    /// How the client proves who it is to the server (mutual TLS): the paths of two PEM files.
    public struct ClientCertificate: Hashable, Sendable {
        /// The certificate, and what leads from it to the authority.
        public var certificate: String
        /// The key.
        public var key: String

        /// A certificate and its key, each by the path of its file. Nothing is read before the first connection.
        ///
        /// - Parameters:
        ///   - certificate: the path of the certificate's PEM file.
        ///   - key: the path of the PEM file with the private key.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Whether an `http` URL of another machine is allowed. Bytes, signatures and passwords can be read on the way
    /// then. `localhost`, `127.0.0.0/8` and `::1` need no permission, and are reached without a proxy.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// For servers that ask for one.
    public var clientCertificate: ClientCertificate?
    /// Whether the proxies of the environment are followed: `https_proxy` or `http_proxy` by the URL's scheme, else
    /// `all_proxy`, and `no_proxy` with the hosts that are reached without. Off by default, so that no variable leads
    /// requests elsewhere unasked. A proxy for `https` sees no more than the server's name.
    public var usesProxyFromEnvironment = false
    /// The time for connecting.
    public var connectTimeout: Duration = .seconds(15)
    /// How long a transfer may stand still. With libcurl a download also has to bring 128 bytes a second, on average
    /// over five minutes.
    public var stallTimeout: Duration = .seconds(60)
    /// Bytes per second of all uploads together; nil for no limit.
    public var uploadLimit: Int?
    /// Bytes per second of all downloads together; nil for no limit.
    public var downloadLimit: Int?

    /// The defaults.
    public init() {}
}
