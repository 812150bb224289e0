package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Where a storage is, as a text that stays the same however the place is written on the command line.
package struct StorageLocation: Equatable, Sendable, CustomStringConvertible {
    package let description: String
    /// The same as `--to` takes it, where that can be told.
    package let argument: String
    package var isFolder: Bool { description.hasPrefix("dir:") }
    /// False for a folder that is not there.
    package let isThere: Bool

    /// A folder: its real path. Of one that is not there, that of its parent with its name.
    package init(folder path: String) {
        let absolute = FilePath(path).absolute(from: FileManager.default.currentDirectoryPath)
        if let real = absolute.real {
            (description, argument, isThere) = (Self.text(real), Self.text(real), absolute.isFolder)
        } else {
            let parent = FilePath(bytes: Array(absolute.bytes.dropLast(absolute.lastComponent.bytes.count)))
            let real = parent.real ?? parent
            let path = Self.text(real.appending(absolute.lastComponent.bytes))
            (description, argument, isThere) = (path, path, false)
        }
    }

    /// The storage of a database as `--to` takes it, as far as what is remembered tells.
    ///
    /// - Parameters:
    ///   - location: the ``description`` of where it is.
    ///   - argument: what was given; nil where that is not remembered.
    package static func argument(_ location: String, given argument: String?) -> String {
        let scheme = "s3://"
        guard location.hasPrefix(scheme) else { return argument ?? location }
        var parts = location.dropFirst(scheme.count).split(separator: "/").map(String.init)
        guard parts.count > 1 else { return argument ?? location }
        let host = parts.removeFirst()
        var bucket = parts.joined(separator: "/")
        if let argument {
            // Which server on this machine nothing tells but the environment, as it did when it was given.
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

    /// As databases have it, which a backslash leaves as it is.
    private static func text(_ folder: FilePath) -> String { "dir:" + Printable.text(folder.exact) }

    /// A bucket: host, bucket and prefix. All regions of Amazon are one place, since no two have buckets of one name.
    ///
    /// What runs on this machine is known by no port: tunnels and containers get another one every time.
    package init(bucket: String, prefix: String, endpoint: URL?, region: String? = nil) {
        isThere = true
        var place = Self.host(endpoint, region)
        let base = endpoint?.path(percentEncoded: false).split(separator: "/").joined(separator: "/") ?? ""
        if !base.isEmpty { place += "/" + base }
        place += "/" + bucket
        let prefix = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        if !prefix.isEmpty { place += "/" + prefix }
        description = "s3://" + place
        let name = "s3://" + bucket + (prefix.isEmpty ? "" : "/" + prefix)
        let server = Self.isAmazon(Self.host(endpoint, region)) ? nil : endpoint
        argument = name + (server.map { "?endpoint=\($0.absoluteString)" } ?? "")
    }

    /// A folder on a server.
    ///
    /// What runs on this machine is known by no port: tunnels and containers get another one every time.
    package init(server url: URL, scheme: String) {
        isThere = true
        let path = url.path(percentEncoded: false).split(separator: "/").joined(separator: "/")
        description = "\(scheme)://\(Self.host(url, nil))/\(path)"
        argument = description
    }

    /// The host of a URL, with its port unless that is the usual one. What runs on this machine is `localhost`.
    static func host(_ url: URL) -> String { host(url, nil) }

    private static func host(_ endpoint: URL?, _ region: String?) -> String {
        let amazon = region?.hasPrefix("cn-") == true ? "amazonaws.com.cn" : "amazonaws.com"
        guard let endpoint, var host = endpoint.host(percentEncoded: false)?.lowercased() else { return amazon }
        for domain in ["amazonaws.com", "amazonaws.com.cn"] where host.hasSuffix("." + domain) { return domain }
        if isLoopback(host) { return "localhost" }
        while host.hasSuffix(".") { host.removeLast() }
        guard let port = endpoint.port, port != (endpoint.scheme == "http" ? 80 : 443) else { return host }
        return "\(host):\(port)"
    }

    /// Whether a host is this machine.
    package static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host)
            || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || $0.isNumber }
    }
}
