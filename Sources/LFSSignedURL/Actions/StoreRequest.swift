import Foundation
import LFSHTTP
import LFSStorage
import LFSSystem
import LFSWire

/// A request to the store, as an action of the signing server says.
struct StoreRequest: Sendable {
    /// Fields that belong to the connection, or that would change what is asked for.
    private static let refusedFields: Set<String> = [
        "host", "connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "expect", "range", "if-match",
    ]

    private(set) var request: HTTPRequest

    /// - Parameters:
    ///   - method: what the operation needs.
    ///   - requiresTLS: whether the signing server itself is asked over TLS: it must not lead the bytes out of it.
    /// - Throws: ``StorageError/Code/serverError`` for an action that no server can mean. It shows nothing of it.
    init(
        _ action: SigningAction, _ method: HTTPRequest.Method, body: RequestBody = .none, requiresTLS: Bool,
        about key: ObjectKey?
    ) throws(StorageError) {
        func refuse(_ reason: String) -> StorageError {
            StorageError(.serverError, "The signing server's answer cannot be used: \(reason).", key: key)
        }
        guard action.method == method.rawValue else {
            throw refuse("it names the method \(action.method) instead of \(method.rawValue)")
        }
        guard let url = URL(string: action.href), let target = Self.target(of: action.href) else {
            throw refuse("it leads nowhere")
        }
        let origin: HTTPOrigin
        do {
            origin = try HTTPOrigin(url)
        } catch {
            throw refuse("it leads to no server")
        }
        guard origin.isSecure || !requiresTLS else {
            throw refuse("it leads out of https, to \(origin)")
        }
        request = HTTPRequest(method, origin, target, body: body)
        for (name, value) in action.header {
            let lowercased = name.lowercased()
            guard !Self.refusedFields.contains(lowercased) else {
                throw refuse("it sets the header field '\(lowercased)'")
            }
            if lowercased == "content-length" {
                guard value == String(body.byteCount) else {
                    throw refuse("it is for \(value.prefix(20)) bytes, and there are \(body.byteCount)")
                }
                continue
            }
            do throws(HTTPError) {
                try request.headers.set(name, value)
            } catch {
                throw refuse("a header field is none")
            }
        }
    }

    /// Path and query as they are written: anything else would not be what was signed.
    private static func target(of href: String) -> String? {
        guard let scheme = href.firstRange(of: "://") else { return nil }
        let rest = href[scheme.upperBound...]
        guard let start = rest.utf8.firstIndex(where: { "/?#".utf8.contains($0) }) else { return "/" }
        let target = rest[start...]
        guard !target.utf8.contains(UInt8(ascii: "#")) else { return nil }
        return target.hasPrefix("/") ? String(target) : "/" + target
    }
}
