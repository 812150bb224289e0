/// What is special about one make of S3 server. Every field can be changed where a server behaves otherwise.
public struct S3Provider: Hashable, Sendable {
    /// The field with which a request proves its body, besides `x-amz-content-sha256`, which is signed.
    public enum ChecksumHeader: String, Hashable, Sendable {
        /// `x-amz-checksum-sha256`.
        case sha256
        /// `Content-MD5` (RFC 1864).
        case contentMD5
        /// Neither.
        case none
    }

    /// How this package knows what it says of a provider.
    public enum Evidence: String, Hashable, Sendable {
        /// Its tests run against that server.
        case tested
        /// The vendor's documentation, or reports of others.
        case reported
        /// Nobody has said it: the careful choice.
        case unknown
    }

    /// The name that the command line takes: `aws`, `cloudflare-r2`.
    public var name: String
    /// The field that proves a body.
    public var checksumHeader: ChecksumHeader
    /// Whether the entity tag of a single upload is the MD5 of its bytes. If not, it is only a name for the version.
    public var entityTagIsMD5: Bool
    /// Whether, where that is so, the tag of an upload in parts is the MD5 over the MD5s of its parts. If not, a tag
    /// that differs says nothing.
    public var multipartTagIsMD5: Bool
    /// Whether `If-None-Match: *`, or what the dialect has for it, keeps an upload from replacing an object.
    public var conditionalWrites: Bool
    /// Whose signature and fields it takes.
    public var dialect: S3Dialect
    /// Whether, where that is so, of several uploads with it at the same time no more than one succeeds.
    public var atomicCreation: Bool
    /// The smallest part but the last, in bytes.
    public var minimumPartSize: Int64
    /// How many parts an upload may have.
    public var maximumPartCount: Int
    /// Whether all parts but the last must have one size.
    public var equalParts: Bool
    /// Whether uploads in parts work at all.
    public var supportsMultipart: Bool
    /// Whether the bucket stands in the path when the addressing is ``S3Addressing/automatic``.
    public var prefersPath: Bool
    /// Whether the server keeps the SHA-256 that came with an object and tells it again.
    public var keepsChecksums: Bool
    /// Whether, where that is so, it tells the SHA-256 of each part of an upload that is not complete.
    public var listsPartChecksums: Bool
    /// Whether the parts of an upload may come with their CRC-64/NVME, and the object in the end with that of all its
    /// bytes (`x-amz-checksum-crc64nvme`, of the type `FULL_OBJECT`), which the server compares, keeps and tells again.
    /// It replaces ``ChecksumHeader/sha256`` over TLS, where a part is then sent with `UNSIGNED-PAYLOAD`: the bytes are
    /// hashed once less.
    public var fullObjectCRC64: Bool
    /// How well this is known.
    public var evidence: Evidence

    /// Every server that is not named here: path style, `Content-MD5`, equal parts, an entity tag that proves nothing,
    /// no conditions and no kept checksums.
    ///
    /// That is what the oldest and the youngest servers have in common. `Content-MD5` is as old as S3 and checked by
    /// those that ignore the signed hash of the body, while some refuse `x-amz-checksum-sha256`. A condition that a
    /// server ignores would promise what it does not keep; keys are unique without it.
    public static let other = S3Provider(name: "other") { _ in }

    /// Whether an upload in parts can be kept from replacing an object.
    var completesConditionally: Bool { conditionalWrites && dialect.hasConditionalCompletion }

    init(name: String, evidence: Evidence = .unknown, _ change: (inout S3Provider) -> Void) {
        self.name = name
        checksumHeader = .contentMD5
        entityTagIsMD5 = false
        multipartTagIsMD5 = true
        conditionalWrites = false
        dialect = .amazon
        atomicCreation = false
        minimumPartSize = 5 << 20
        maximumPartCount = 10_000
        equalParts = true
        supportsMultipart = true
        prefersPath = true
        keepsChecksums = false
        listsPartChecksums = false
        fullObjectCRC64 = false
        self.evidence = evidence
        change(&self)
    }
}
