package import Foundation
package import LFSHTTP
import LFSHTTPStorage
package import LFSStorage

/// A folder on a server, and the paths of what is in it, percent-encoded.
package struct WebDAVPlace: Sendable {
    package let origin: HTTPOrigin
    /// Of the folder itself, with a slash at its end.
    package let root: String
    private let plainRoot: String

    /// - Throws: ``StorageError/Code/invalidRequest`` when the URL is more than a server and a path.
    package init(_ url: URL) throws(StorageError) {
        let endpoint = try Endpoint(url)
        origin = endpoint.origin
        root = endpoint.path + "/"
        plainRoot = root.removingPercentEncoding ?? root
    }

    /// The same for every user of the folder.
    var location: String { "webdav:\(origin.authority)\(root)" }

    /// The path of an object. A key needs no encoding: its alphabet is its rule.
    func path(of key: ObjectKey) -> String { root + key.rawValue }

    /// The path of a file beside an object. No key has a `~`, so no listing of objects shows it. (A dot would hide it
    /// from nginx's own listings too, and so from who looks for what was left behind.)
    func path(of key: ObjectKey, unfinished token: String) -> String {
        let segments = key.rawValue.split(separator: "/")
        return root + (segments.dropLast() + ["~\(segments[segments.count - 1])~\(token)"]).joined(separator: "/")
    }

    /// The folders that an object's path leads through, the outermost first, with a slash at their ends.
    func folders(of key: ObjectKey) -> [String] {
        var path = root
        return key.rawValue.split(separator: "/").dropLast().map { segment in
            path += segment + "/"
            return path
        }
    }

    func url(of key: ObjectKey) -> URL { URL(string: address(path(of: key))) ?? URL(fileURLWithPath: path(of: key)) }

    /// A path as header fields name it.
    func address(_ path: String) -> String { "\(origin)\(path)" }

    /// The part of a path behind the folder's own, decoded; nil for what is not below it. The folder itself is "".
    ///
    /// - Parameter href: a URL or a path, as a server writes it.
    func name(of href: String) -> String? {
        var path = href[...]
        if let scheme = path.range(of: "://") {
            guard let slash = path[scheme.upperBound...].firstIndex(of: "/") else { return nil }
            path = path[slash...]
        }
        guard let plain = path.removingPercentEncoding else { return nil }
        if plain + "/" == plainRoot { return "" }
        return plain.hasPrefix(plainRoot) ? String(plain.dropFirst(plainRoot.count)) : nil
    }
}
