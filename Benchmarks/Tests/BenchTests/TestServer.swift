import BenchKit
import Foundation
import Testing

/// A server for the tests, if one runs: see `Tests/Servers`.
enum TestServer {
    /// SeaweedFS, with a bucket of this run that is to be made: of the servers for tests it tells checksums.
    static let seaweedfs: S3Server? = {
        struct Running: Decodable { var name, endpoint, accessKey, secretKey, region: String }
        let text = ProcessInfo.processInfo.environment["LFS_S3_SERVERS"] ?? "[]"
        return try? JSONDecoder().decode([Running].self, from: Data(text.utf8)).first { $0.name == "seaweedfs" }.map {
            S3Server(
                endpoint: $0.endpoint, region: $0.region, bucket: "bench-\(UInt32.random(in: 0...UInt32.max))",
                accessKey: $0.accessKey, secretKey: $0.secretKey)
        }
    }()

    /// Makes the bucket, which may be there already.
    static func makeBucket(_ server: S3Server) throws {
        try curl(server, "PUT", "\(server.endpoint)/\(server.bucket)", statuses: ["200", "409"])
    }

    static func curl(
        _ server: S3Server, _ method: String, _ url: String, to output: String = "/dev/null",
        statuses: [String] = ["200"]
    ) throws {
        try withRunner { runner, _ in
            let result = try runner.run(
                ChildCommand(
                    "/usr/bin/env",
                    [
                        "curl", "--silent", "--show-error", "--write-out", "%{http_code}", "--request", method,
                        "--aws-sigv4", "aws:amz:\(server.region):s3", "--user",
                        "\(server.accessKey):\(server.secretKey)", "--output", output, url,
                    ], environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]))
            #expect(statuses.contains(result.output), "\(method) \(url): \(result.output) \(result.reason())")
        }
    }
}
