/// The makes of servers with a name here. Sources: the vendors' pages on S3 compatibility, and for the gaps in them the
/// provider tables of rclone and Litestream.
extension S3Provider {
    /// Amazon S3. An entity tag is the MD5 unless the bucket encrypts with KMS keys, so it is a hint here too.
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

    /// Cloudflare R2: parts of one size.
    public static let cloudflareR2 = S3Provider(name: "cloudflare-r2", evidence: .reported) {
        $0.checksumHeader = .sha256
        $0.entityTagIsMD5 = true
        // They are reported to be random.
        $0.multipartTagIsMD5 = false
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.keepsChecksums = true
    }

    /// Backblaze B2: it has refused `x-amz-checksum-…`.
    public static let backblazeB2 = S3Provider(name: "backblaze-b2", evidence: .reported) { $0.equalParts = false }

    /// Wasabi.
    public static let wasabi = S3Provider(name: "wasabi", evidence: .reported) {
        $0.equalParts = false
        $0.prefersPath = false
    }

    /// MinIO, a recent one.
    public static let minio = S3Provider(name: "minio", evidence: .reported) {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.equalParts = false
        $0.keepsChecksums = true
    }

    /// Ceph's RADOS gateway: checksums and conditions depend on its version.
    public static let ceph = S3Provider(name: "ceph", evidence: .reported) { $0.equalParts = false }

    /// SeaweedFS 4: it checks and keeps checksums, but compares no body with its signed hash. A listing
    /// comes in the order of a walk through folders, which for the keys of this package is the order of their bytes.
    public static let seaweedFS = S3Provider(name: "seaweedfs", evidence: .tested) {
        $0.checksumHeader = .sha256
        $0.conditionalWrites = true
        $0.atomicCreation = true
        $0.equalParts = false
        $0.keepsChecksums = true
        $0.fullObjectCRC64 = true
    }

    /// OpenStack Swift with its s3api: it checks a checksum and keeps none, of several uploads with `If-None-Match: *`
    /// at the same time more than one may win, and it takes 1,000 parts unless it is set up for more.
    public static let openStackSwift = S3Provider(name: "openstack-swift", evidence: .tested) {
        $0.checksumHeader = .sha256
        $0.entityTagIsMD5 = true
        $0.conditionalWrites = true
        $0.maximumPartCount = 1_000
        $0.equalParts = false
    }

    /// The gateway of JuiceFS, an older MinIO in front: it ignores checksums but `Content-MD5`, and conditions, and
    /// keeps an entity tag only when it is told to.
    public static let juiceFS = S3Provider(name: "juicefs", evidence: .tested) { $0.equalParts = false }

    /// Google Cloud Storage by its XML interface, with HMAC keys: it has no SHA-256 of objects, and of an object in
    /// parts no MD5 either.
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

    /// Hetzner Object Storage: it refuses `x-amz-checksum-…`.
    public static let hetzner = S3Provider(name: "hetzner", evidence: .reported) { $0.equalParts = false }

    /// Scaleway Object Storage: at most 1,000 parts.
    public static let scaleway = S3Provider(name: "scaleway", evidence: .reported) {
        $0.maximumPartCount = 1_000
        $0.equalParts = false
    }

    /// Supabase Storage. Its endpoint has a path, which is signed.
    public static let supabase = S3Provider(name: "supabase", evidence: .reported) { $0.equalParts = false }

    /// Storj: parts of 64 MiB and more.
    public static let storj = S3Provider(name: "storj", evidence: .reported) {
        $0.minimumPartSize = 64 << 20
        $0.equalParts = false
    }

    /// Fastly Object Storage: an upload, or a part of one, that takes more than 120 seconds is refused.
    public static let fastly = S3Provider(name: "fastly", evidence: .reported) { $0.equalParts = false }

    /// All of them, ``other`` last.
    public static let all: [S3Provider] = [
        .aws, .cloudflareR2, .backblazeB2, .wasabi, .minio, .ceph, .seaweedFS, .openStackSwift, .juiceFS, .googleCloud,
        .digitalOcean, .hetzner, .scaleway, .supabase, .storj, .fastly, .other,
    ]

    /// The one of that ``name``, in any case and with or without its hyphens; nil when there is none.
    public static func named(_ text: String) -> S3Provider? {
        func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" } }
        return all.first { plain($0.name) == plain(text) }
    }
}
