import Foundation
import LFSHTTP
import LFSStorage
import LFSSystem
import LFSWire

/// A request to the store that follows an action of the signing server.
struct StoreRequest: Sendable {
    /// Header fields that belong to the connection, or would change the meaning of the request.
    private static let refusedFields: Set<String> = [
        "host", "connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "expect", "range", "if-match",
    ]

    private(set) var request: HTTPRequest

    /// - Parameters:
    ///   - method: the method that the operation needs.
    ///   - requiresTLS: true if the signing server itself is reached over TLS. Its actions must then use TLS too.
    /// - Throws: ``StorageError/Code/serverError`` for an invalid action. The message shows no secret part of it.
    init(
        _ action: SigningAction, method: HTTPRequest.Method, body: RequestBody = .none, requiresTLS: Bool,
        about key: ObjectKey?
    ) throws(StorageError) {
        func refuse(_ reason: String) -> StorageError {
            StorageError(.serverError, message: "The signing server's reply cannot be used: \(reason).", key: key)
        }
        guard action.method == method.rawValue else {
            throw refuse("it has the method \(action.method) instead of \(method.rawValue)")
        }
        guard let url = URL(string: action.href), let target = Self.target(of: action.href) else {
            throw refuse("its URL is invalid")
        }
        let origin: HTTPOrigin
        do {
            origin = try HTTPOrigin(url)
        } catch {
            throw refuse("its URL has no valid server")
        }
        guard origin.isSecure || !requiresTLS else {
            throw refuse("its URL is not https: \(origin)")
        }
        request = HTTPRequest(method, origin: origin, target: target, body: body)
        for (name, value) in action.header {
            let lowercased = name.lowercased()
            guard !Self.refusedFields.contains(lowercased) else {
                throw refuse("it sets the header field '\(lowercased)'")
            }
            if lowercased == "content-length" {
                guard value == String(body.byteCount) else {
                    throw refuse("it is for \(value.prefix(20)) bytes, but there are \(body.byteCount)")
                }
                continue
            }
            do throws(HTTPError) {
                try request.headers.set(name, value: value)
            } catch {
                throw refuse("a header field is invalid")
            }
        }
    }

    /// Returns the path and query exactly as written, because the signature covers them.
    private static func target(of href: String) -> String? {
        guard let scheme = href.firstRange(of: "://") else { return nil }
        let rest = href[scheme.upperBound...]
        guard let start = rest.utf8.firstIndex(where: { "/?#".utf8.contains($0) }) else { return "/" }
        let target = rest[start...]
        guard !target.utf8.contains(UInt8(ascii: "#")) else { return nil }
        return target.hasPrefix("/") ? String(target) : "/" + target
    }
}
