import ArgumentParser
package import Foundation
import LFSS3
import LFSStorage

/// A bucket as it is written on the command line: `s3://bucket/prefix?endpoint=…&region=…`.
package struct S3Argument: Sendable {
    package var bucket: String
    package var prefix = ""
    package var endpoint: URL?
    var region: String?
    var addressing = S3Addressing.automatic
    var provider: S3Provider?
    var profile: String?
    var storageClass: String?

    static let form = "s3://bucket/prefix?endpoint=URL&region=NAME"

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    package init(parsing text: String) throws {
        let parts = text.dropFirst("s3://".count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let bucket = path.first, !bucket.isEmpty else {
            throw ValidationError("'\(text)' names no bucket. Write \(Self.form).")
        }
        // A secret may have slashes, so that the part before the first one need not show the sign.
        guard !parts[0].contains("@"), !bucket.contains(":") else { throw Self.keys }
        self.bucket = bucket
        prefix = try Self.prefix(path.dropFirst().first ?? "")
        guard parts.count == 2 else { return }
        for item in parts[1].split(separator: "&") {
            let pair = try item.split(separator: "=", maxSplits: 1).map { try Self.decoded(String($0)) }
            guard pair.count == 2, !pair[1].isEmpty else {
                throw ValidationError("'\(item)' in '\(text)' is not a setting: write name=value.")
            }
            try set(pair[0], pair[1])
        }
    }

    private static let keys = ValidationError(
        """
        Keep keys out of the command line, where everybody sees them: use AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY \
        in the environment, or a profile. Whatever of them was written here is known by now: make new ones.
        """
    )

    private static func decoded(_ text: String) throws -> String {
        guard let decoded = text.removingPercentEncoding else {
            throw ValidationError(
                "'\(text)' has a % that no two hexadecimal digits follow, or that is no text. Write %25 for %.")
        }
        return decoded
    }

    /// The prefix of the keys, which is a path below the bucket and nothing else.
    private static func prefix(_ text: String) throws -> String {
        let prefix = try decoded(text)
        guard !prefix.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }), !prefix.contains("//"),
            !prefix.hasPrefix("/")
        else {
            throw ValidationError(
                "The prefix '\(prefix)' has '.', '..' or an empty name in it. Write it as a plain path.")
        }
        return prefix
    }

    private mutating func set(_ name: String, _ value: String) throws {
        switch name.lowercased().filter({ $0 != "-" && $0 != "_" }) {
        case "endpoint", "endpointurl": endpoint = try Self.endpoint(value)
        case "region": region = value
        case "profile": profile = value
        case "storageclass": storageClass = value
        case "addressing", "addressingstyle":
            addressing = try Self.choice(
                name, value == "auto" ? "automatic" : value, S3Addressing.allCases.map(\.rawValue)
            ) {
                S3Addressing(rawValue: $0)
            }
        case "provider":
            provider = try Self.choice(name, value, S3Provider.all.map(\.name)) { S3Provider.named($0) }
        default:
            throw ValidationError(
                "'\(name)' is no setting of a bucket. There are: endpoint, region, addressing, provider, profile, "
                    + "storage-class.")
        }
    }

    private static func choice<Value>(
        _ name: String, _ text: String, _ all: [String], _ make: (String) -> Value?
    ) throws -> Value {
        guard let value = make(text) else {
            throw ValidationError("'\(text)' is no \(name). There are: \(all.joined(separator: ", ")).")
        }
        return value
    }

    private static func endpoint(_ text: String) throws -> URL {
        guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host != nil
        else { throw ValidationError("'\(text)' is not the URL of a server: write endpoint=https://host.") }
        guard url.user == nil, url.password == nil, !text.contains("@") else { throw keys }
        guard url.query == nil, url.fragment == nil, !text.contains("?"), !text.contains("#") else {
            throw ValidationError(
                "The endpoint '\(text)' has a query or a fragment, which no bucket has: leave it out.")
        }
        let path = url.path(percentEncoded: true)
        guard !path.contains("%"), !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw ValidationError(
                "The path of the endpoint '\(text)' has '%', '.' or '..' in it. Write it as a plain path.")
        }
        return url
    }

    /// Where the bucket is, with the endpoint that the environment or the profile says.
    func location() throws -> StorageLocation {
        let environment = try S3Environment.resolve(profile: profile)
        return StorageLocation(
            bucket: bucket, prefix: prefix, endpoint: endpoint ?? environment.endpoint,
            region: region ?? environment.region)
    }

    /// Opens the bucket with what the command line, the environment and the profile say, in this order.
    func open(_ transfer: TransferOptions) async throws -> any RemoteStorage {
        let environment = try S3Environment.resolve(profile: profile)
        var options = S3Options()
        options.provider = provider
        options.partSize = transfer.partSize?.bytes
        if let size = transfer.partSize?.bytes { options.multipartThreshold = size }
        options.uploadLimit = transfer.limitRate.map { Int($0.bytes) }
        options.downloadLimit = options.uploadLimit
        options.storageClass = storageClass
        options.certificateAuthorities = environment.caBundle
        options.usesProxyFromEnvironment = true
        // Whoever writes http out has decided so; from the environment it is taken for this machine only.
        options.allowsPlainHTTP = endpoint?.scheme == "http" || environment.endpoint?.isOnThisMachine == true
        let storage = try S3Storage(
            bucket: bucket, prefix: prefix, region: region ?? environment.region,
            endpoint: endpoint ?? environment.endpoint, addressing: addressing,
            credentials: profile.map { .profile($0) } ?? .automatic, options: options)
        // Without keys every single file would fail, each for itself.
        try await storage.requireCredentials()
        return storage
    }
}

extension URL {
    fileprivate var isOnThisMachine: Bool { StorageLocation.isLoopback(host?.lowercased() ?? "") }
}
