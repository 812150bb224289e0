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

    var testDescription: String { name }

    /// All that run now; none when the tests run by themselves.
    static let all: [S3Server] = {
        guard let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] else { return [] }
        do {
            return try JSONDecoder().decode([S3Server].self, from: Data(text.utf8))
        } catch {
            fatalError("LFS_S3_SERVERS cannot be read: \(error)")
        }
    }()

    /// The words that name a bucket on the command line.
    func storage(_ bucket: String, _ prefix: String, endpoint: URL? = nil) -> String {
        "s3://\(bucket)/\(prefix)?endpoint=\((endpoint ?? self.endpoint).absoluteString)&region=\(region)&addressing=path&provider=\(profile)"
    }

    /// The keys as the AWS tools take them.
    var environment: [String: String] { ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey] }

    /// Asks the server with `curl`, which nobody here wrote.
    ///
    /// - Returns: the body of the reply.
    @discardableResult
    func curl(_ method: String, _ path: String, to file: URL? = nil) throws -> Data {
        let output = file ?? FileManager.default.temporaryDirectory.appendingPathComponent("curl-\(UUID().uuidString)")
        let worked = try system(
            "curl", "--silent", "--fail", "-X", method, "--aws-sigv4", "aws:amz:\(region):s3", "--user",
            "\(accessKey):\(secretKey)", "--output", output.path, "\(endpoint.absoluteString)\(path)")
        guard worked else { throw CurlFailed(request: "\(method) \(path)") }
        if file != nil { return Data() }
        defer { try? FileManager.default.removeItem(at: output) }
        return FileManager.default.fileExists(atPath: output.path) ? try Data(contentsOf: output) : Data()
    }

    struct CurlFailed: Error { let request: String }
}
