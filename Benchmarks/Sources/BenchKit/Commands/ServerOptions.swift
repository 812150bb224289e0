import ArgumentParser

/// The server and the bucket of all copies. The keys come from the environment only.
struct ServerOptions: ParsableArguments {
    @Option(name: .long, help: "The server's URL. The default is AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.")
    var endpoint: String?

    @Option(name: .long, help: "The region. The default is AWS_REGION or AWS_DEFAULT_REGION.")
    var region: String?

    @Option(name: .long, help: "A bucket that exists. Everything goes below lfs-bench/ in it.")
    var bucket: String?

    @Option(name: .long, help: "The make of the server, for the uploader's URL.")
    var provider: String?

    /// - Throws: `ValidationError` without a bucket.
    @discardableResult
    func requireBucket() throws -> String {
        guard let bucket else { throw ValidationError("Missing expected argument '--bucket <bucket>'") }
        return bucket
    }

    /// - Throws: `BenchError` that names the missing value.
    func server(from environment: [String: String]) throws -> S3Server {
        func value(_ given: String?, names: String..., option: String? = nil) throws -> String {
            if let value = ([given] + names.map { environment[$0] }).compactMap(\.self).first(where: { !$0.isEmpty }) {
                return value
            }
            throw BenchError("Set \(names.joined(separator: " or "))\(option.map { ", or give \($0)" } ?? "").")
        }
        var endpoint = try value(endpoint, names: "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", option: "--endpoint")
        guard endpoint.hasPrefix("http://") || endpoint.hasPrefix("https://") else {
            throw BenchError("'\(endpoint)' is not the URL of a server. Write https://host or http://host:port.")
        }
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        return S3Server(
            endpoint: endpoint,
            region: try value(region, names: "AWS_REGION", "AWS_DEFAULT_REGION", option: "--region"),
            bucket: try requireBucket(), accessKey: try value(nil, names: "AWS_ACCESS_KEY_ID"),
            secretKey: try value(nil, names: "AWS_SECRET_ACCESS_KEY"), sessionToken: environment["AWS_SESSION_TOKEN"],
            provider: provider)
    }
}
