/// The server and the bucket that every tool copies to, with the keys.
package struct S3Server: Sendable {
    /// Without a slash at the end.
    package var endpoint: String
    package var region: String
    package var bucket: String
    package var accessKey: String
    package var secretKey: String
    package var sessionToken: String?
    /// What the uploader is told about the make of the server, as its URL takes it.
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

    /// The environment for a tool: this server, and nothing else that could send it elsewhere.
    func environment(from current: [String: String]) -> [String: String] {
        var environment = current.filter { name, _ in !name.hasPrefix("AWS_") && !name.hasPrefix("RCLONE_") }
        environment["AWS_ENDPOINT_URL"] = endpoint
        environment["AWS_ENDPOINT_URL_S3"] = endpoint
        environment["AWS_REGION"] = region
        environment["AWS_DEFAULT_REGION"] = region
        environment["AWS_ACCESS_KEY_ID"] = accessKey
        environment["AWS_SECRET_ACCESS_KEY"] = secretKey
        environment["AWS_SESSION_TOKEN"] = sessionToken
        environment["AWS_EC2_METADATA_DISABLED"] = "true"
        return environment
    }
}
