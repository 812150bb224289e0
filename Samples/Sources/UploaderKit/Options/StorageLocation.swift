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
    /// False for a folder that is not there.
    package let isThere: Bool

    /// A folder: its real path. Of one that is not there, that of its parent with its name.
    package init(folder path: String) {
        let absolute = FilePath(path).absolute(from: FileManager.default.currentDirectoryPath)
        if let real = Self.realPath(absolute) {
            (description, isThere) = ("dir:\(real)", Self.isFolder(absolute))
        } else {
            let parent = FilePath(bytes: Array(absolute.bytes.dropLast(absolute.lastComponent.bytes.count)))
            let real = Self.realPath(parent) ?? parent
            (description, isThere) = ("dir:\(real.appending(absolute.lastComponent.bytes))", false)
        }
    }

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
    }

    /// A folder on a server.
    ///
    /// What runs on this machine is known by no port: tunnels and containers get another one every time.
    package init(server url: URL, scheme: String) {
        isThere = true
        let path = url.path(percentEncoded: false).split(separator: "/").joined(separator: "/")
        description = "\(scheme)://\(Self.host(url, nil))/\(path)"
    }

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

    private static func realPath(_ path: FilePath) -> FilePath? {
        path.withCString { name in
            guard let real = realpath(name, nil) else { return nil }
            defer { free(real) }
            return FilePath(bytes: Array(UnsafeRawBufferPointer(start: real, count: strlen(real))))
        }
    }

    private static func isFolder(_ path: FilePath) -> Bool {
        var status = stat()
        return path.withCString { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
