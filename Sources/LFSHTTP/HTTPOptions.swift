/// How a transport connects. The defaults are the safe ones.
package struct HTTPOptions: Sendable {
    /// Which proxy requests go through.
    package enum Proxy: Hashable, Sendable {
        /// None, whatever the environment says.
        case none
        /// What `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` say.
        case environment
        case url(String)
    }

    /// How the client proves who it is to the server (mutual TLS).
    package struct ClientCertificate: Hashable, Sendable {
        /// The path of a PEM file with the certificate and what leads from it to the authority.
        package var certificate: String
        /// The path of a PEM file with the key.
        package var key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Whether `http` is allowed to other machines: without it only `https` is, with TLS 1.2 or newer and the
    /// certificate verified.
    package var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    package var certificateAuthorities: String?
    package var clientCertificate: ClientCertificate?
    package var proxy = Proxy.none
    /// The time for finding the host, connecting to it and agreeing on encryption.
    package var connectTimeout = Duration.seconds(15)
    /// How long a transfer may stand still, in both directions.
    package var stallTimeout = Duration.seconds(60)
    /// Bytes per second that a reply to a sink brings at least, on average over ``rateWindow``: a byte now and then
    /// would hold a download for ever. Far less than any line that is of use.
    package var leastReceiveRate = 128
    package var rateWindow = Duration.seconds(300)
    /// How many requests to one origin are under way at once; further ones wait for their turn, oldest first.
    package var maxRequestsPerOrigin = 32
    /// Bytes per second of all requests' bodies together; nil for no limit.
    package var sendLimit: Int?
    /// Bytes per second of all replies' bodies together; nil for no limit.
    package var receiveLimit: Int?
    package var userAgent = "LFS"

    package init() {}

    /// Looks at a request before anything goes out, for every transport.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest``.
    package func check(_ request: HTTPRequest) throws(HTTPError) {
        guard request.origin.isPermitted(allowsPlainHTTP: allowsPlainHTTP) else {
            throw HTTPError(
                .invalidRequest,
                "\(request.origin) is not encrypted. Use https, or set allowsPlainHTTP in the options.")
        }
        guard request.target.utf8.first == UInt8(ascii: "/"), request.target.hasOnly(Self.isPrinted)
        else { throw HTTPError(.invalidRequest, "A request's path has to be percent-encoded.") }
        guard request.origin.host.hasOnly(Self.isOfHost) else {
            throw HTTPError(.invalidRequest, "'\(request.origin.host.prefix(80))' is not the name of a host.")
        }
    }

    /// ASCII without blanks and control characters.
    private static func isPrinted(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }

    /// Nothing that would end the host's name in a URL.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\"): false
        default: isPrinted(byte)
        }
    }
}
