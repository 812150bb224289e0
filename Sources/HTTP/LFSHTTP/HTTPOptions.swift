/// The connection settings of a transport. The defaults are secure.
package struct HTTPOptions: Sendable {
    /// The proxy that requests go through.
    package enum Proxy: Hashable, Sendable {
        /// No proxy, whatever the environment variables say.
        case none
        /// The proxy from `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`.
        case environment
        case url(String)
    }

    /// The library that sends the requests, as the app chooses it. `platform` is libcurl where it exists, otherwise
    /// `URLSession`.
    package enum Engine: Sendable { case platform, curl, urlSession }

    /// The certificate and key that identify the client to the server (mutual TLS).
    package struct ClientCertificate: Hashable, Sendable {
        /// A PEM file with the certificate, its chain and the private key, or a PKCS#12 file.
        package var bytes: [UInt8]
        /// The password of the private key, or an empty text. A missing one would make OpenSSL ask at the terminal.
        package var password: String

        package init(_ bytes: [UInt8], password: String?) {
            self.bytes = bytes
            self.password = password ?? ""
        }

        /// True for PKCS#12, which is a DER sequence with a length of more than 127 bytes. A PEM file is ASCII text.
        package var isPKCS12: Bool { bytes.count > 2 && bytes[0] == 0x30 && bytes[1] >= 0x80 }
    }

    package var engine = Engine.platform
    /// Permits unencrypted `http` to other machines.
    ///
    /// The default is false: only `https` is allowed, with TLS 1.2 or newer and a verified certificate. `http` to this
    /// machine is always allowed.
    package var allowsPlainHTTP = false
    /// The path of a PEM file with the certificate authorities to trust instead of the system's.
    package var certificateAuthorities: String?
    package var clientCertificate: ClientCertificate?
    package var proxy = Proxy.none
    /// The limit for the DNS lookup, the connection and the TLS handshake together.
    package var connectTimeout = Duration.seconds(15)
    /// The time after which a transfer without any progress, in either direction, fails.
    package var stallTimeout = Duration.seconds(60)
    /// The lowest average rate of a reply to a sink, in bytes per second, measured over ``rateWindow``.
    ///
    /// Without a minimum, a server that sends a byte now and then could keep a download open forever. The default is
    /// far below the rate of any usable connection.
    package var leastReceiveRate = 128
    package var rateWindow = Duration.seconds(300)
    /// The number of concurrent requests to one origin. Further requests wait, and the oldest is sent first.
    package var maxRequestsPerOrigin = 32
    /// Bytes per second of all request bodies together. nil sets no limit.
    package var sendLimit: Int?
    /// Bytes per second of all reply bodies together. nil sets no limit.
    package var receiveLimit: Int?
    package var userAgent = "LFS"

    package init() {}

    /// Validates a request before anything is sent. Every transport calls this method.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest``.
    package func check(_ request: HTTPRequest) throws(HTTPError) {
        guard request.origin.isPermitted(allowsPlainHTTP: allowsPlainHTTP) else {
            throw HTTPError(
                .invalidRequest,
                message: "\(request.origin) is not encrypted. Use https, or set allowsPlainHTTP in the options.")
        }
        guard request.target.utf8.first == UInt8(ascii: "/"), request.target.hasOnly(Self.isPrinted)
        else { throw HTTPError(.invalidRequest, message: "A request's path has to be percent-encoded.") }
        guard request.origin.host.hasOnly(Self.isOfHost) else {
            throw HTTPError(.invalidRequest, message: "'\(request.origin.host.prefix(80))' is not the name of a host.")
        }
    }

    /// Accepts printable ASCII, without the space.
    private static func isPrinted(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }

    /// Rejects the characters that would end the host name in a URL.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\"): false
        default: isPrinted(byte)
        }
    }
}
