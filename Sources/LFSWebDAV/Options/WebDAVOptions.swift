package import LFSHTTP

/// How a ``WebDAVStorage`` uploads and connects. The defaults suit most apps.
public struct WebDAVOptions: Sendable {
    /// Whether every upload is read back and its SHA-256 compared before it counts. Without it the server's word on the
    /// size has to do, and each file is read back once before its local copy is freed.
    public var readsBack = false
    /// Whether an `http` URL is allowed. Bytes and passwords can be read on the way then.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// Whether the proxies of the environment are followed: `https_proxy` or `http_proxy` by the URL's scheme, else
    /// `all_proxy`, and `no_proxy` with the hosts that are reached without.
    public var usesProxyFromEnvironment = false
    /// The time for connecting.
    public var connectTimeout: Duration = .seconds(15)
    /// How long a transfer may stand still.
    public var stallTimeout: Duration = .seconds(60)
    /// Bytes per second of all uploads together; nil for no limit.
    public var uploadLimit: Int?
    /// Bytes per second of all downloads together; nil for no limit.
    public var downloadLimit: Int?

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has.
    package var transport: (any HTTPTransport)?

    /// The defaults.
    public init() {}
}

extension HTTPOptions {
    init(_ options: WebDAVOptions) {
        self.init()
        allowsPlainHTTP = options.allowsPlainHTTP
        certificateAuthorities = options.certificateAuthorities
        proxy = options.usesProxyFromEnvironment ? .environment : .none
        connectTimeout = options.connectTimeout
        stallTimeout = options.stallTimeout
        sendLimit = options.uploadLimit
        receiveLimit = options.downloadLimit
    }
}
