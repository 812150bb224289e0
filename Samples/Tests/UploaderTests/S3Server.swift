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
    /// The folder in which the bytes of objects stand in files as they are, if there is one.
    var data: String?

    var testDescription: String { name }

    /// All that run now; none when the tests run by themselves.
    static let all = everyone.filter { !["webdav", "signed"].contains($0.profile) }
    /// Those that speak WebDAV. The keys are name and password.
    static let webDAV = everyone.filter { $0.profile == "webdav" }
    /// Those that sign URLs. The keys are the tokens of two users, the second one's first.
    static let signing = everyone.filter { $0.profile == "signed" }

    private static let everyone: [S3Server] = {
        guard let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] else { return [] }
        do {
            return try JSONDecoder().decode([S3Server].self, from: Data(text.utf8))
        } catch {
            fatalError("LFS_S3_SERVERS cannot be read: \(error)")
        }
    }()

    /// The words that name a bucket on the command line.
    func storage(_ bucket: String, _ prefix: String, endpoint: URL? = nil) -> String {
        let endpoint = (endpoint ?? self.endpoint).absoluteString
        return "s3://\(bucket)/\(prefix)?endpoint=\(endpoint)&region=\(region)&addressing=path&provider=\(profile)"
    }

    /// The keys as the AWS tools take them.
    var environment: [String: String] { ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey] }

    /// Asks the server with `curl`, which nobody here wrote. The request has no body.
    ///
    /// The keys are in the URL because `--user` ends the name at its first colon, and Swift's has one. Old versions of
    /// curl do not send the hash of the empty body by themselves.
    /// - Returns: the body of the reply.
    @discardableResult
    func curl(_ method: String, _ path: String, to file: URL? = nil) throws -> Data {
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
        (parts.scheme, parts.host, parts.port) = (endpoint.scheme, endpoint.host, endpoint.port)
        // A colon is allowed in a name by RFC 3986, and not in one that a password follows.
        func encoded(_ text: String) -> String? { text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) }
        (parts.percentEncodedUser, parts.percentEncodedPassword) = (encoded(accessKey), encoded(secretKey))
        guard let base = parts.string else { throw CurlFailed(request: path) }
        return base + path
    }

    struct CurlFailed: Error { let request: String }
}
