import Foundation
import Testing

/// A real server that `Tests/Servers/with` has started.
struct S3Server: Codable, Sendable, CustomTestStringConvertible {
    var name: String
    var profile: String
    var endpoint: URL
    var accessKey: String
    var secretKey: String
    var region: String
    /// The folder in which the server stores objects as plain files, if it has one.
    var data: String?

    var testDescription: String { name }

    /// The running S3 servers. The list is empty if the tests run without `Tests/Servers/with`.
    static let all = everyone.filter { !["webdav", "signed"].contains($0.profile) }
    /// The WebDAV servers. The keys are name and password.
    static let webDAV = everyone.filter { $0.profile == "webdav" }
    /// The servers that sign URLs. The keys are the tokens of two users, the second user's first.
    static let signing = everyone.filter { $0.profile == "signed" }

    private static let everyone: [S3Server] = {
        guard let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] else { return [] }
        do {
            return try JSONDecoder().decode([S3Server].self, from: Data(text.utf8))
        } catch {
            fatalError("LFS_S3_SERVERS cannot be read: \(error)")
        }
    }()

    /// Returns a bucket as a command-line argument.
    func storage(_ bucket: String, prefix: String, endpoint: URL? = nil) -> String {
        let endpoint = (endpoint ?? self.endpoint).absoluteString
        return "s3://\(bucket)/\(prefix)?endpoint=\(endpoint)&region=\(region)&addressing=path&provider=\(profile)"
    }

    /// The environment variables with the keys, as the AWS tools read them.
    var environment: [String: String] { ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey] }

    /// Sends a request without a body with `curl`, an independent client.
    ///
    /// The keys are in the URL because `--user` ends the name at its first colon, and Swift's name contains one. Old
    /// versions of curl do not send the hash of the empty body automatically.
    /// - Returns: the body of the reply.
    @discardableResult
    func curl(_ method: String, path: String, to file: URL? = nil) throws -> Data {
        let output = file ?? FileManager.default.temporaryDirectory.appendingPathComponent("curl-\(UUID().uuidString)")
        let worked = try system(
            "curl", "--silent", "--show-error", "--fail", "-X", method, "--aws-sigv4", "aws:amz:\(region):s3",
            "--header", "x-amz-content-sha256: \(Self.sha256OfNothing)", "--output", output.path, try url(path))
        guard worked else { throw CurlFailed(request: "\(method) \(path)") }
        if file != nil { return Data() }
        defer { try? FileManager.default.removeItem(at: output) }
        return FileManager.default.fileExists(atPath: output.path) ? try Data(contentsOf: output) : Data()
    }

    private static let sha256OfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private func url(_ path: String) throws -> String {
        var parts = URLComponents()
        parts.scheme = endpoint.scheme
        parts.host = endpoint.host
        parts.port = endpoint.port
        // RFC 3986 allows a colon in a name, but not in a name with a password.
        func encoded(_ text: String) -> String? { text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) }
        parts.percentEncodedUser = encoded(accessKey)
        parts.percentEncodedPassword = encoded(secretKey)
        guard let base = parts.string else { throw CurlFailed(request: path) }
        return base + path
    }

    struct CurlFailed: Error { let request: String }
}
