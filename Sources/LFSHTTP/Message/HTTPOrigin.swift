package import Foundation

/// A scheme, a host and a port: where requests go (RFC 6454).
package struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
    package let isSecure: Bool
    /// A lowercase name, an IPv4 address, or an IPv6 address in brackets.
    package let host: String
    /// nil for the scheme's own port.
    package let port: Int?
    /// Host and port as the `Host` field has them.
    package let authority: String
    /// `https://host:port`.
    package let description: String

    package init(isSecure: Bool, host: String, port: Int?) {
        let host = host.lowercased()
        let port = port == (isSecure ? 443 : 80) ? nil : port
        self.isSecure = isSecure
        self.host = host
        self.port = port
        authority = port.map { "\(host):\($0)" } ?? host
        description = (isSecure ? "https://" : "http://") + authority
    }

    /// Whether it is this machine itself, so that nothing goes over a network.
    package var isOnThisMachine: Bool {
        ["localhost", "[::1]"].contains(host)
            || host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// The origin of an `http` or `https` URL.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest`` for other schemes, a missing host, or a user name in the URL.
    package init(_ url: URL) throws(HTTPError) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let host = parts.encodedHost, !host.isEmpty
        else {
            throw HTTPError(.invalidRequest, "'\(url.absoluteString)' is not the URL of a server: write https://host.")
        }
        guard parts.user == nil, parts.password == nil else {
            throw HTTPError(
                .invalidRequest, "The URL of the server has a user name or a password in it: leave them out.")
        }
        self.init(isSecure: scheme == "https", host: host, port: parts.port)
    }
}
