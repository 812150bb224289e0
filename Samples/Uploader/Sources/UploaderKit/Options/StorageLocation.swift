package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The location of a storage, as a text that does not depend on how the storage is written on the command line.
package struct StorageLocation: Equatable, Sendable, CustomStringConvertible {
    package let description: String
    /// The location in the syntax of `--to`, if it is known.
    package let argument: String
    package var isFolder: Bool { description.hasPrefix("dir:") }
    /// False if the folder is missing. Always true for a storage on a server.
    package let isThere: Bool

    /// Creates the location of a folder, which is its real path. For a missing folder, it is the real path of the
    /// parent with the folder's name.
    package init(folder path: String) {
        let absolute = FilePath(path).absolute(from: FileManager.default.currentDirectoryPath)
        if let real = absolute.real {
            description = Self.text(real)
            argument = Self.text(real)
            isThere = absolute.isFolder
        } else {
            let parent = FilePath(bytes: Array(absolute.bytes.dropLast(absolute.lastComponent.bytes.count)))
            let real = parent.real ?? parent
            let path = Self.text(real.appending(absolute.lastComponent.bytes))
            description = path
            argument = path
            isThere = false
        }
    }

    /// Returns the storage of a database in the syntax of `--to`, from the recorded information.
    ///
    /// - Parameters:
    ///   - location: the ``description`` of its location.
    ///   - argument: the argument that was given. Nil if it is not recorded.
    package static func argument(_ location: String, given argument: String?) -> String {
        let scheme = "s3://"
        guard location.hasPrefix(scheme) else { return argument ?? location }
        var parts = location.dropFirst(scheme.count).split(separator: "/").map(String.init)
        guard parts.count > 1 else { return argument ?? location }
        let host = parts.removeFirst()
        var bucket = parts.joined(separator: "/")
        if let argument {
            // Only the environment knows which server on this machine is meant, as when the storage was given.
            guard argument.hasPrefix(scheme), !argument.contains("endpoint="), host != "localhost" else {
                return argument
            }
            let given = argument.dropFirst(scheme.count).prefix { $0 != "?" }.split(separator: "/")
            bucket = given.joined(separator: "/")
            parts = parts.dropLast(given.count)
        } else {
            parts = []
        }
        if isAmazon(host) { return argument ?? scheme + bucket }
        let endpoint = "endpoint=https://" + ([host] + parts).joined(separator: "/")
        guard let argument else { return "\(scheme)\(bucket)?\(endpoint)" }
        return argument + (argument.contains("?") ? "&" : "?") + endpoint
    }

    private static func isAmazon(_ host: String) -> Bool { ["amazonaws.com", "amazonaws.com.cn"].contains(host) }

    /// The text for databases, in which backslashes are not escaped.
    private static func text(_ folder: FilePath) -> String { "dir:" + Printable.text(folder.exact) }

    /// Creates the location of a bucket from host, bucket and prefix. All regions of Amazon are one place, because
    /// bucket names are unique across them.
    ///
    /// For servers on this machine, the port is omitted, because tunnels and containers use changing ports.
    package init(bucket: String, prefix: String, endpoint: URL?, region: String? = nil) {
        isThere = true
        var place = Self.host(ofBucketAt: endpoint, region: region)
        let base = endpoint?.path(percentEncoded: false).split(separator: "/").joined(separator: "/") ?? ""
        if !base.isEmpty { place += "/" + base }
        place += "/" + bucket
        let prefix = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        if !prefix.isEmpty { place += "/" + prefix }
        description = "s3://" + place
        let name = "s3://" + bucket + (prefix.isEmpty ? "" : "/" + prefix)
        let server = Self.isAmazon(Self.host(ofBucketAt: endpoint, region: region)) ? nil : endpoint
        argument = name + (server.map { "?endpoint=\($0.absoluteString)" } ?? "")
    }

    /// Creates the location of a folder on a server.
    ///
    /// For servers on this machine, the port is omitted, because tunnels and containers use changing ports.
    package init(server url: URL, scheme: String) {
        isThere = true
        let path = url.path(percentEncoded: false).split(separator: "/").joined(separator: "/")
        description = "\(scheme)://\(Self.host(url))/\(path)"
        argument = description
    }

    /// Returns the host of a URL, with its port unless that is the default one. For servers on this machine, returns
    /// `localhost`.
    static func host(_ url: URL) -> String {
        guard var host = url.host(percentEncoded: false)?.lowercased() else { return "" }
        if isLoopback(host) { return "localhost" }
        while host.hasSuffix(".") { host.removeLast() }
        guard let port = url.port, port != (url.scheme == "http" ? 80 : 443) else { return host }
        return "\(host):\(port)"
    }

    /// Returns the host of a bucket, which is the same for all regions of Amazon. This does not apply to other servers,
    /// because Amazon's customers get hosts below it.
    private static func host(ofBucketAt endpoint: URL?, region: String?) -> String {
        let amazon = region?.hasPrefix("cn-") == true ? "amazonaws.com.cn" : "amazonaws.com"
        guard let endpoint, let name = endpoint.host(percentEncoded: false)?.lowercased() else { return amazon }
        for domain in ["amazonaws.com", "amazonaws.com.cn"] where name.hasSuffix("." + domain) { return domain }
        return host(endpoint)
    }

    /// Returns true if a host is this machine.
    package static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host)
            || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
    }
}
