package import Foundation

/// The scheme, host and port that requests are sent to (RFC 6454).
package struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
    package let isSecure: Bool
    /// A lowercase name, an IPv4 address, or an IPv6 address in brackets.
    package let host: String
    /// nil for the default port of the scheme.
    package let port: Int?
    /// The host and port in the form of the `Host` field.
    package let authority: String
    /// The origin as text, such as `https://host:port`.
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

    /// True for this machine: `localhost`, `::1` or 127.0.0.0/8. Such requests do not cross a network.
    package var isOnThisMachine: Bool {
        if ["localhost", "[::1]"].contains(host) { return true }
        // A name such as 127.0.0.1.example is not an address. Its owner decides where it leads.
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.allSatisfy { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(part) != nil
        }
        return parts.count == 4 && parts[0] == "127" && isAddress
    }

    /// Returns true if requests to this origin are allowed: it is encrypted, on this machine, or plain HTTP is allowed.
    ///
    /// - Parameter allowsPlainHTTP: the app's option with the same name.
    package func isPermitted(allowsPlainHTTP: Bool) -> Bool { isSecure || allowsPlainHTTP || isOnThisMachine }

    /// Creates the origin of an `http` or `https` URL.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest`` for other schemes, a missing host, or a user name in the URL.
    package init(_ url: URL) throws(HTTPError) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let host = parts.encodedHost, !host.isEmpty
        else {
            throw HTTPError(
                .invalidRequest, message: "'\(url.absoluteString)' is not the URL of a server: write https://host.")
        }
        guard parts.user == nil, parts.password == nil else {
            throw HTTPError(
                .invalidRequest, message: "The URL of the server has a user name or a password in it: leave them out.")
        }
        self.init(isSecure: scheme == "https", host: host, port: parts.port)
    }
}
