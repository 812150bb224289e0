import ArgumentParser
import Foundation
import LFSS3
import LFSStorage

/// A bucket as it is written on the command line: `s3://bucket/prefix?endpoint=…&region=…`.
struct BucketArgument: Sendable, Equatable {
    var bucket: String
    var prefix: String
    var endpoint: URL?
    var region: String?
    var profile: String?
    var addressing = S3Addressing.automatic

    static let form = "s3://bucket/prefix?endpoint=URL&region=NAME"

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        // What was written may have keys in it, so nothing of it is repeated.
        let wrong = ValidationError("--storage names no bucket. Write \(Self.form), and keys in the environment.")
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty, parts.user == nil,
            parts.password == nil, parts.port == nil, parts.fragment == nil
        else { throw wrong }
        bucket = host
        prefix = String(parts.path.drop { $0 == "/" })
        let names = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast(
            prefix.hasSuffix("/") ? 1 : 0)
        guard prefix.isEmpty || !names.contains(where: { ["", ".", ".."].contains($0) }) else { throw wrong }
        for item in parts.queryItems ?? [] {
            guard let value = item.value, !value.isEmpty else {
                throw ValidationError("'\(item.name)' has no value: write \(item.name)=….")
            }
            try set(item.name, value)
        }
    }

    private mutating func set(_ name: String, _ value: String) throws {
        switch name {
        case "endpoint":
            guard let url = URL(string: value), ["http", "https"].contains(url.scheme), url.host != nil, url.user == nil
            else { throw ValidationError("The endpoint is not the URL of a server: write endpoint=https://host.") }
            endpoint = url
        case "region": region = value
        case "profile": profile = value
        case "addressing":
            guard let choice = S3Addressing(rawValue: value) else {
                let all = S3Addressing.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("'\(value)' is no addressing. There are: \(all).")
            }
            addressing = choice
        default:
            throw ValidationError(
                "'\(name)' is no setting of a bucket. There are: endpoint, region, profile, addressing.")
        }
    }

    /// Opens the bucket with what the command line, the environment and the profile say, in this order.
    ///
    /// - Throws: `StorageError` when it cannot be used, such as without keys.
    func open() async throws -> any RemoteStorage {
        let environment = try S3Environment.resolve(profile: profile)
        var options = S3Options()
        options.certificateAuthorities = environment.caBundle
        options.usesProxyFromEnvironment = true
        // Whoever writes http out has decided so.
        options.allowsPlainHTTP = endpoint?.scheme == "http"
        let storage = try S3Storage(
            bucket: bucket, prefix: prefix, region: region ?? environment.region,
            endpoint: endpoint ?? environment.endpoint, addressing: addressing,
            credentials: profile.map { .profile($0) } ?? .automatic, options: options)
        // Without keys every single picture would fail, each for itself.
        try await storage.requireCredentials()
        return storage
    }
}
