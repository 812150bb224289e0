package import Foundation
package import LFSHTTP
import LFSHTTPStorage
package import LFSStorage

/// A folder on a server, and the percent-encoded paths of its contents.
package struct WebDAVPlace: Sendable {
    package let origin: HTTPOrigin
    /// The path of the folder, with a trailing slash.
    package let root: String
    private let plainRoot: String

    /// - Throws: ``StorageError/Code/invalidRequest`` when the URL has more than a server and a path.
    package init(_ url: URL) throws(StorageError) {
        let endpoint = try Endpoint(url)
        origin = endpoint.origin
        root = endpoint.path + "/"
        plainRoot = root.removingPercentEncoding ?? root
    }

    /// A text that is the same for all clients of the folder.
    var location: String { "webdav:\(origin.authority)\(root)" }

    /// Returns the path of an object. A key consists of characters that need no encoding.
    func path(of key: ObjectKey) -> String { root + key.rawValue }

    /// Returns the path of a temporary file in the folder of an object.
    ///
    /// Keys contain no `~`, so listings of objects do not show the file. A leading dot would also hide it from nginx's
    /// own listings, and so from an administrator who looks for leftovers.
    func path(of key: ObjectKey, unfinished token: String) -> String {
        let segments = key.rawValue.split(separator: "/")
        return root + (segments.dropLast() + ["~\(segments[segments.count - 1])~\(token)"]).joined(separator: "/")
    }

    /// Returns the folders on the path of an object, outermost first, with trailing slashes.
    func folders(of key: ObjectKey) -> [String] {
        var path = root
        return key.rawValue.split(separator: "/").dropLast().map { segment in
            path += segment + "/"
            return path
        }
    }

    func url(of key: ObjectKey) -> URL { URL(string: address(path(of: key))) ?? URL(fileURLWithPath: path(of: key)) }

    /// Returns a path in the form that header fields need.
    func address(_ path: String) -> String { "\(origin)\(path)" }

    /// Returns the decoded part of a path below the folder. nil for a path elsewhere, and "" for the folder itself.
    ///
    /// - Parameter href: a URL or a path, as the server writes it.
    func name(of href: String) -> String? {
        var path = href[...]
        if let scheme = path.range(of: "://") {
            guard let slash = path[scheme.upperBound...].firstIndex(of: "/") else { return nil }
            path = path[slash...]
        }
        guard let plain = path.removingPercentEncoding else { return nil }
        if plain + "/" == plainRoot { return "" }
        // Canonical equivalence is intended: a server on HFS+ lists the names of the root in another normal form than
        // the URL has. Equivalent texts have the same number of characters.
        return plain.hasPrefix(plainRoot) ? String(plain.dropFirst(plainRoot.count)) : nil
    }
}
