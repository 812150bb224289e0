package import Foundation
package import LFSHTTP
package import LFSStorage

/// The server of a storage, and the path on it that contains all objects.
package struct Endpoint: Hashable, Sendable {
    package let origin: HTTPOrigin
    /// The percent-encoded path without a trailing slash. Empty for the root.
    package let path: String

    /// - Throws: ``StorageError/Code/invalidRequest`` when the URL has more than a server and a plain path. Anything
    ///   else would be dropped, or would lead to another place than it seems.
    package init(_ url: URL) throws(StorageError) {
        if let reason = Self.objection(to: url) {
            throw StorageError(.invalidRequest, message: "The endpoint \(reason).")
        }
        do {
            origin = try HTTPOrigin(url)
        } catch {
            throw StorageError(.invalidRequest, message: error.message, cause: error)
        }
        path = PercentEncoding.path(url.path(percentEncoded: false)).trimmingSlashesAtEnd
    }

    private static func objection(to url: URL) -> String? {
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        return if parts?.user != nil || parts?.password != nil {
            "has a user name or a password in it: leave them out, and pass them as credentials"
        } else if parts?.percentEncodedQuery != nil || parts?.percentEncodedFragment != nil {
            "has a '?' or a '#': write only the scheme, host, port and path"
        } else if let path = parts?.percentEncodedPath, !isPlain(path) {
            "has a path with '.', '..', '//' or an encoded slash in it: write a plain path"
        } else {
            nil
        }
    }

    private static func isPlain(_ path: String) -> Bool {
        !path.contains("//")
            && path.split(separator: "/").allSatisfy { part in
                guard let decoded = part.removingPercentEncoding else { return false }
                return ![".", ".."].contains(decoded) && !decoded.contains { $0 == "/" || $0 == "\\" }
            }
    }
}

extension String {
    fileprivate var trimmingSlashesAtEnd: String {
        var text = self[...]
        while text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
