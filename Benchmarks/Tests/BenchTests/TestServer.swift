import BenchKit
import Foundation
import Testing

/// A server for the tests, if one is running. See `Tests/Servers`.
enum TestServer {
    /// SeaweedFS with a bucket name for this run. It is the test server that reports checksums.
    static let seaweedfs: S3Server? = {
        struct Running: Decodable { var name, endpoint, accessKey, secretKey, region: String }
        let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] ?? "[]"
        return try? JSONDecoder().decode([Running].self, from: Data(text.utf8)).first { $0.name == "seaweedfs" }.map {
            S3Server(
                endpoint: $0.endpoint, region: $0.region, bucket: "bench-\(UInt32.random(in: 0...UInt32.max))",
                accessKey: $0.accessKey, secretKey: $0.secretKey)
        }
    }()

    /// Creates the bucket, which may exist.
    static func makeBucket(_ server: S3Server) throws {
        try curl(server, method: "PUT", url: "\(server.endpoint)/\(server.bucket)", statuses: ["200", "409"])
    }

    static func curl(
        _ server: S3Server, method: String, url: String, to output: String = "/dev/null",
        statuses: [String] = ["200"]
    ) throws {
        try withRunner { runner, _ in
            let result = try runner.run(
                ChildCommand(
                    "/usr/bin/env",
                    arguments: [
                        "curl", "--silent", "--show-error", "--write-out", "%{http_code}", "--request", method,
                        "--aws-sigv4", "aws:amz:\(server.region):s3", "--user",
                        "\(server.accessKey):\(server.secretKey)", "--output", output, url,
                    ], environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]))
            #expect(statuses.contains(result.output), "\(method) \(url): \(result.output) \(result.reason())")
        }
    }
}
