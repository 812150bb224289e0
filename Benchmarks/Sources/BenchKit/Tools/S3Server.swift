/// The server and the bucket of all copies, with the keys.
package struct S3Server: Sendable {
    /// The URL of the server without a trailing slash.
    package var endpoint: String
    package var region: String
    package var bucket: String
    package var accessKey: String
    package var secretKey: String
    package var sessionToken: String?
    /// The provider for the uploader's URL.
    package var provider: String?

    package init(
        endpoint: String, region: String, bucket: String, accessKey: String, secretKey: String,
        sessionToken: String? = nil, provider: String? = nil
    ) {
        self.endpoint = endpoint
        self.region = region
        self.bucket = bucket
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.provider = provider
    }

    /// Returns the environment of a tool. It contains only this server's settings, so that no other setting redirects
    /// the tool. Settings of trusted certificates are kept.
    func environment(from current: [String: String]) -> [String: String] {
        var environment = current.filter { name, _ in !name.hasPrefix("AWS_") && !name.hasPrefix("RCLONE_") }
        environment["AWS_ENDPOINT_URL"] = endpoint
        environment["AWS_ENDPOINT_URL_S3"] = endpoint
        environment["AWS_REGION"] = region
        environment["AWS_DEFAULT_REGION"] = region
        environment["AWS_ACCESS_KEY_ID"] = accessKey
        environment["AWS_SECRET_ACCESS_KEY"] = secretKey
        environment["AWS_SESSION_TOKEN"] = sessionToken
        environment["AWS_CA_BUNDLE"] = current["AWS_CA_BUNDLE"]
        environment["AWS_EC2_METADATA_DISABLED"] = "true"
        return environment
    }

    /// Returns the uploader's URL of a prefix of the bucket.
    func uploaderURL(prefix: String) -> String {
        var settings = [("endpoint", endpoint), ("region", region), ("addressing", "path")]
        if let provider { settings.append(("provider", provider)) }
        let query = settings.map { "\($0)=\(S3URL.encode($1, keeping: ":/"))" }.joined(separator: "&")
        return "s3://\(bucket)/\(prefix)?\(query)"
    }

    /// The variables that define the server as rclone's remote `bench`.
    var rcloneEnvironment: [String: String] {
        [
            "RCLONE_CONFIG": "",  // no file
            "RCLONE_CONFIG_BENCH_TYPE": "s3",
            "RCLONE_CONFIG_BENCH_PROVIDER": "Other",
            "RCLONE_CONFIG_BENCH_ENV_AUTH": "true",
            "RCLONE_CONFIG_BENCH_ENDPOINT": endpoint,
            "RCLONE_CONFIG_BENCH_REGION": region,
            "RCLONE_CONFIG_BENCH_FORCE_PATH_STYLE": "true",
        ]
    }
}
