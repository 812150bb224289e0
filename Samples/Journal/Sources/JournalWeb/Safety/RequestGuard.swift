import Foundation
import HTTPTypes
import Hummingbird

/// A check of every request before it is routed: the request must be for this server, and must come from a page of this
/// server.
struct RequestGuard: Sendable {
    let hosts: Set<String>
    let isTLS: Bool

    init(_ options: WebOptions) {
        var hosts = Set(options.hostNames.map { $0.lowercased() })
        if options.address.isLoopback { hosts.formUnion(["localhost", "127.0.0.1", "::1"]) }
        // Browsers do not send 0.0.0.0 and :: as a host.
        hosts.insert(options.address.host.lowercased())
        self.hosts = hosts
        isTLS = options.tls != nil
    }

    /// - Throws: ``WebError``.
    func check(_ request: Request) throws(WebError) {
        try checkHost(request)
        guard [.get, .head, .post].contains(request.method) else {
            throw WebError(.wrongMethod, message: "This server accepts only GET, HEAD and POST.")
        }
        if request.method == .post { try checkOrigin(request) } else { try checkFetch(request) }
        try checkPath(request)
    }

    /// Checks the host. An attacker's name that resolves to this server would make the attacker's page one of this
    /// server's (DNS rebinding).
    private func checkHost(_ request: Request) throws(WebError) {
        let fields = request.headers[values: .host]
        guard let authority = request.head.authority, fields.allSatisfy({ $0 == authority }), fields.count < 2,
            let host = Self.host(of: authority), hosts.contains(host)
        else {
            throw WebError(.wrongHost, message: "The server does not have this name. Start it with --host-name NAME.")
        }
    }

    /// Returns the host of `host:port`, in lowercase. Nil for any other text.
    static func host(of authority: String) -> String? {
        if let address = ListenAddress(authority) { return address.host.lowercased() }
        return ListenAddress(authority + ":80")?.host.lowercased()
    }

    /// Checks that a request for a change comes from a page of this server. The browser sets these headers, and pages
    /// cannot forge them.
    private func checkOrigin(_ request: Request) throws(WebError) {
        let refused = WebError(.foreignOrigin, message: "Only pages of this journal may change it.")
        let (origins, sites) = (request.headers[values: .origin], request.headers[values: .fetchSite])
        guard origins.count + sites.count > 0, origins.count < 2, sites.count < 2 else { throw refused }
        if let origin = origins.first, origin != request.origin(isTLS: isTLS) { throw refused }
        if let site = sites.first, site != "same-origin" { throw refused }
    }

    /// Checks that a request of another site's page is a navigation and does not embed anything.
    private func checkFetch(_ request: Request) throws(WebError) {
        guard request.isFromOtherSite else { return }
        guard request.headers[.fetchMode] == "navigate", request.headers[.fetchDestination] == "document" else {
            throw WebError(.foreignOrigin, message: "Pages of other sites may not load anything from this journal.")
        }
    }

    /// Checks that the path has only plain characters. No path of this server needs others, so that nothing has to be
    /// decoded, and nothing can be decoded twice.
    private func checkPath(_ request: Request) throws(WebError) {
        let path = (request.head.path ?? "").prefix { $0 != "?" }
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= 200, path.utf8.allSatisfy(Self.isPlain),
            !path.contains(".."), !path.contains("//")
        else { throw WebError.noSuchPage }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "/-_.".utf8.contains(byte)
        }
    }
}

extension Request {
    /// Returns the origin of this server, according to the request.
    func origin(isTLS: Bool) -> String { (isTLS ? "https://" : "http://") + (head.authority ?? "") }

    /// Indicates that a page of another site has started the request. False if the browser does not send the site.
    var isFromOtherSite: Bool {
        guard let site = headers[.fetchSite] else { return false }
        return !["same-origin", "none"].contains(site)
    }
}

extension HTTPField.Name {
    static let host = HTTPField.Name("Host") ?? .origin
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    static let fetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .origin
    static let fetchDestination = HTTPField.Name("Sec-Fetch-Dest") ?? .origin
    static let clearSiteData = HTTPField.Name("Clear-Site-Data") ?? .origin
    static let formToken = HTTPField.Name("X-Journal-Token") ?? .origin
}
