/// The known providers. Sources: the vendors' pages on S3 compatibility, and for missing facts the provider tables of
/// rclone and Litestream.
extension S3Provider {
    /// Amazon S3. The entity tag is the MD5 unless the bucket encrypts with KMS keys, so it is only a hint.
    public static let aws = S3Provider(name: "aws", evidence: .reported) {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.equalParts = false
        $0.prefersPath = false
        $0.keepsChecksums = true
        $0.listsPartChecksums = true
        $0.fullObjectCRC64 = true
    }

    /// Cloudflare R2. All parts except the last must have the same size.
    public static let cloudflareR2 = S3Provider(name: "cloudflare-r2", evidence: .reported) {
        $0.checksumHeader = .sha256
        $0.entityTagIsMD5 = true
        // The entity tags of multipart uploads are reported to be random.
        $0.multipartTagIsMD5 = false
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.keepsChecksums = true
    }

    /// Backblaze B2. It has been reported to refuse `x-amz-checksum-…`.
    public static let backblazeB2 = S3Provider(name: "backblaze-b2", evidence: .reported) { $0.equalParts = false }

    /// Wasabi.
    public static let wasabi = S3Provider(name: "wasabi", evidence: .reported) {
        $0.equalParts = false
        $0.prefersPath = false
    }

    /// MinIO, recent versions.
    public static let minio = S3Provider(name: "minio", evidence: .reported) {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.equalParts = false
        $0.keepsChecksums = true
    }

    /// Ceph's RADOS gateway. Support for checksums and conditions depends on its version.
    public static let ceph = S3Provider(name: "ceph", evidence: .reported) { $0.equalParts = false }

    /// SeaweedFS 4. It checks and keeps checksums, but does not compare bodies with their signed hash.
    ///
    /// Listings follow its folder order, which for the keys of this package is the order of their bytes.
    public static let seaweedFS = S3Provider(name: "seaweedfs", evidence: .tested) {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.equalParts = false
        $0.keepsChecksums = true
        $0.fullObjectCRC64 = true
    }

    /// OpenStack Swift with its s3api. It checks checksums but does not keep them.
    ///
    /// Of several concurrent uploads with `If-None-Match: *`, more than one may succeed. By default it accepts 1,000
    /// parts.
    public static let openStackSwift = S3Provider(name: "openstack-swift", evidence: .tested) {
        $0.checksumHeader = .sha256
        $0.entityTagIsMD5 = true
        $0.conditionalWrites = true
        $0.maximumPartCount = 1_000
        $0.equalParts = false
    }

    /// The gateway of JuiceFS, which is based on an older MinIO. It ignores conditions and all checksums except
    /// `Content-MD5`. It keeps an entity tag only if configured to.
    public static let juiceFS = S3Provider(name: "juicefs", evidence: .tested) { $0.equalParts = false }

    /// Google Cloud Storage through its XML API with HMAC keys. It has no SHA-256 of objects, and no MD5 of objects
    /// that were uploaded in parts.
    public static let googleCloud = S3Provider(name: "google-cloud", evidence: .reported) {
        $0.dialect = .google
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.entityTagIsMD5 = true
        $0.multipartTagIsMD5 = false
        $0.equalParts = false
    }

    /// DigitalOcean Spaces.
    public static let digitalOcean = S3Provider(name: "digitalocean", evidence: .reported) {
        $0.equalParts = false
        $0.prefersPath = false
    }

    /// Hetzner Object Storage. It refuses `x-amz-checksum-…`.
    public static let hetzner = S3Provider(name: "hetzner", evidence: .reported) { $0.equalParts = false }

    /// Scaleway Object Storage. It accepts at most 1,000 parts.
    public static let scaleway = S3Provider(name: "scaleway", evidence: .reported) {
        $0.maximumPartCount = 1_000
        $0.equalParts = false
    }

    /// Supabase Storage. Its endpoint has a path, which is part of the signature.
    public static let supabase = S3Provider(name: "supabase", evidence: .reported) { $0.equalParts = false }

    /// Storj. Parts have at least 64 MiB.
    public static let storj = S3Provider(name: "storj", evidence: .reported) {
        $0.minimumPartSize = 64 << 20
        $0.equalParts = false
    }

    /// Fastly Object Storage. It refuses an upload, or a part of one, that takes more than 120 seconds.
    public static let fastly = S3Provider(name: "fastly", evidence: .reported) { $0.equalParts = false }

    /// All known providers, with ``other`` at the end.
    public static let all: [S3Provider] = [
        .aws, .cloudflareR2, .backblazeB2, .wasabi, .minio, .ceph, .seaweedFS, .openStackSwift, .juiceFS, .googleCloud,
        .digitalOcean, .hetzner, .scaleway, .supabase, .storj, .fastly, .other,
    ]

    /// Returns the provider with that ``name``, ignoring case and hyphens, or nil.
    public static func named(_ text: String) -> S3Provider? {
        func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" } }
        return all.first { plain($0.name) == plain(text) }
    }
}
