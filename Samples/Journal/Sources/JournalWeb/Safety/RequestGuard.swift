import Foundation
import HTTPTypes
import Hummingbird

/// Looks at every request before it is routed: is it meant for this server, and does a page of this server send it?
struct RequestGuard: Sendable {
    let hosts: Set<String>
    let isTLS: Bool

    init(_ options: WebOptions) {
        var hosts = Set(options.hostNames.map { $0.lowercased() })
        if options.address.isLoopback { hosts.formUnion(["localhost", "127.0.0.1", "::1"]) }
        // 0.0.0.0 and :: name nothing that a browser would ask for.
        hosts.insert(options.address.host.lowercased())
        self.hosts = hosts
        isTLS = options.tls != nil
    }

    /// - Throws: ``WebError``.
    func check(_ request: Request) throws(WebError) {
        try checkHost(request)
        guard [.get, .head, .post].contains(request.method) else {
            throw WebError(.wrongMethod, "This server knows GET, HEAD and POST only.")
        }
        if request.method == .post { try checkOrigin(request) } else { try checkFetch(request) }
        try checkPath(request)
    }

    /// A name that was let point here by somebody else would make their page one of this server's (DNS rebinding).
    private func checkHost(_ request: Request) throws(WebError) {
        let fields = request.headers[values: .host]
        guard let authority = request.head.authority, fields.allSatisfy({ $0 == authority }), fields.count < 2,
            let host = Self.host(of: authority), hosts.contains(host)
        else { throw WebError(.wrongHost, "This server does not have that name. Start it with --host-name NAME.") }
    }

    /// The host of `host:port`, in lowercase; nil for anything else.
    static func host(of authority: String) -> String? {
        if let address = ListenAddress(authority) { return address.host.lowercased() }
        return ListenAddress(authority + ":80")?.host.lowercased()
    }

    /// What changes something comes from a page of this server: the browser says so, and nobody can make it lie.
    private func checkOrigin(_ request: Request) throws(WebError) {
        let refused = WebError(.foreignOrigin, "Only pages of this journal may change it.")
        let (origins, sites) = (request.headers[values: .origin], request.headers[values: .fetchSite])
        guard origins.count + sites.count > 0, origins.count < 2, sites.count < 2 else { throw refused }
        if let origin = origins.first, origin != request.origin(isTLS: isTLS) { throw refused }
        if let site = sites.first, site != "same-origin" { throw refused }
    }

    /// Pages of others may lead here, and take nothing in.
    private func checkFetch(_ request: Request) throws(WebError) {
        guard let site = request.headers[.fetchSite], !["same-origin", "none"].contains(site) else { return }
        guard request.headers[.fetchMode] == "navigate", request.headers[.fetchDestination] == "document" else {
            throw WebError(.foreignOrigin, "Pages of other sites may not take anything from this journal.")
        }
    }

    /// No path of this server needs anything else, so nothing has to be decoded, and nothing is decoded twice.
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
    /// This server, as the request names it.
    func origin(isTLS: Bool) -> String { (isTLS ? "https://" : "http://") + (head.authority ?? "") }
}

extension HTTPField.Name {
    static let host = HTTPField.Name("Host") ?? .origin
    static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    static let fetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .origin
    static let fetchDestination = HTTPField.Name("Sec-Fetch-Dest") ?? .origin
    static let formToken = HTTPField.Name("X-Journal-Token") ?? .origin
}
