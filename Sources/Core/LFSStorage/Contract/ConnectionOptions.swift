/// The connection settings of a storage on a server. The defaults suit most apps.
public struct ConnectionOptions: Hashable, Sendable {
    /// The library that sends the requests.
    public enum Engine: Hashable, Sendable {
        /// libcurl if the program was built with it, otherwise `URLSession`.
        case platform
        /// libcurl, which the trait `Curl` includes on Linux and macOS.
        case curl
        /// Foundation's `URLSession`, on Apple platforms.
        ///
        /// It uses the proxy of the system's settings. A request fails with an error if the options name a client
        /// certificate, ``usesProxyFromEnvironment``, ``uploadLimit`` or ``downloadLimit``. An object with a
        /// `Content-Encoding` cannot be downloaded, because `URLSession` would decode it. App Transport Security
        /// applies to `http` URLs.
        case urlSession
    }

    /// The library that sends the requests. `.platform` by default: `URLSession` on iOS, libcurl elsewhere.
    public var engine = Engine.platform
    /// Allows `http` URLs of other machines. Bytes, signatures and passwords can then be read in transit. `localhost`,
    /// `127.0.0.0/8` and `::1` need no permission, and are reached without a proxy. The default is false.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// The certificate for servers that require one of their clients. `URLSession`, the engine on iOS, refuses it.
    public var clientCertificate: ClientCertificate?
    /// Further header fields of each request to the storage's server, for example for a proxy in front of it that
    /// authenticates clients. Empty by default.
    ///
    /// They are not part of a signature, and other servers do not get them: neither a login server nor the store behind
    /// a signing server. Opening the storage throws ``StorageError/Code/invalidRequest`` for a name that LFS or HTTP
    /// sets, such as `Authorization` or `x-amz-date`. The values are treated as secrets.
    public var headers: [String: String] = [:]
    /// Enables the proxies of the environment: `https_proxy` or `http_proxy` by the URL's scheme, otherwise
    /// `all_proxy`. `no_proxy` lists the hosts that are reached directly. Off by default, so that no variable redirects
    /// requests unintentionally. A proxy for `https` sees only the server's name.
    public var usesProxyFromEnvironment = false
    /// The longest time to establish a connection. `URLSession` applies ``stallTimeout`` instead. The default is 15
    /// seconds.
    public var connectTimeout: Duration = .seconds(15)
    /// The longest time that a transfer may stall. A download must also receive 128 bytes per second on average over
    /// five minutes. The default is 60 seconds.
    public var stallTimeout: Duration = .seconds(60)
    /// The limit of all uploads together in bytes per second, nil for no limit.
    public var uploadLimit: Int?
    /// The limit of all downloads together in bytes per second, nil for no limit.
    public var downloadLimit: Int?

    /// Creates the default options.
    public init() {}
}

extension ConnectionOptions: CustomReflectable {
    /// The options for dumps, with the names of the header fields but not their values.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> = [
            "engine": engine, "allowsPlainHTTP": allowsPlainHTTP,
            "certificateAuthorities": certificateAuthorities as Any, "clientCertificate": clientCertificate as Any,
            "headers": headers.keys.sorted(),
            "usesProxyFromEnvironment": usesProxyFromEnvironment, "connectTimeout": connectTimeout,
            "stallTimeout": stallTimeout, "uploadLimit": uploadLimit as Any, "downloadLimit": downloadLimit as Any,
        ]
        return Mirror(self, children: children, displayStyle: .struct)
    }
}
