extension S3Provider {
    /// Returns the provider of an endpoint by the domain of its host, or ``other`` for an unknown domain.
    ///
    /// - Parameter host: a name or an address without a port, such as `s3.eu-central-1.amazonaws.com`.
    package static func detect(endpoint host: String) -> S3Provider {
        var host = host.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        return domains.first { isName(host, in: $0.domain) }?.provider ?? .other
    }

    private static let domains: [(domain: String, provider: S3Provider)] = [
        ("amazonaws.com", .aws), ("amazonaws.com.cn", .aws), ("api.aws", .aws),
        ("r2.cloudflarestorage.com", .cloudflareR2), ("backblazeb2.com", .backblazeB2), ("wasabisys.com", .wasabi),
        ("storage.googleapis.com", .googleCloud), ("digitaloceanspaces.com", .digitalOcean),
        ("your-objectstorage.com", .hetzner), ("scw.cloud", .scaleway), ("supabase.co", .supabase),
        ("storjshare.io", .storj), ("fastlystorage.app", .fastly),
    ]

    /// Returns true if the host is the domain or below it: `evilamazonaws.com` is not below `amazonaws.com`.
    private static func isName(_ host: String, in domain: String) -> Bool {
        host == domain || host.hasSuffix("." + domain)
    }
}
