import Foundation

/// Checks of the server with installed tools: the existence of the bucket, and its contents.
struct ServerCheck {
    var server: S3Server
    var runner: ChildRunner
    var environment: [String: String]
    /// The folder for the configuration with the keys.
    var folder: String

    /// - Throws: `BenchError` if the server cannot be reached, refuses the keys or has no such bucket.
    func checkBucket(curl: String) throws {
        let path = folder + "/curl.conf"
        try CurlConfiguration(
            server,
            options: [
                ("max-time", "20"), ("write-out", "%{http_code}"), ("output", "/dev/null"), ("url", S3URL.text(server)),
            ]
        ).write(to: path)
        let answer = try runner.run(
            ChildCommand(curl, arguments: ["--head", "--config", path], environment: environment))
        let (bucket, endpoint) = (server.bucket, server.endpoint)
        switch Int(answer.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 {
        case 200..<300: return
        case 0: throw BenchError("The server \(endpoint) cannot be reached: \(answer.reason())")
        case 404: throw BenchError("There is no bucket '\(bucket)' at \(endpoint). Create it first.")
        case 401, 403:
            throw BenchError("\(endpoint) refuses the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
        case let status:
            throw BenchError(
                "\(endpoint) answered \(status) to a request for the bucket '\(bucket)'. Check the region.")
        }
    }

    /// - Throws: `BenchError` if the prefix does not contain exactly the files.
    func checkObjects(aws: String, prefix: String, workload: Workload) throws {
        let answer = try runner.run(
            ChildCommand(
                aws,
                arguments: [
                    "--endpoint-url", server.endpoint, "s3api", "list-objects-v2", "--bucket", server.bucket,
                    "--prefix", prefix + "/", "--output", "json",
                    "--query", "[length(Contents || `[]`), sum((Contents || `[]`)[].Size)]",
                ], environment: server.environment(from: environment)))
        guard answer.succeeded else { throw BenchError("The objects cannot be listed: \(answer.reason())") }
        let numbers = try JSONDecoder().decode([Int64].self, from: Data(answer.output.utf8))
        guard numbers == [Int64(workload.files), workload.bytes] else {
            throw BenchError(
                "\(numbers[0]) objects with \(numbers[1]) bytes are below \(prefix), where \(workload.files) with "
                    + "\(workload.bytes) should be.")
        }
    }
}
