/// The properties of one kind of S3 server. An unknown server is ``other``, or a custom one if more is known about it.
public struct S3Provider: Hashable, Sendable {
    /// The header field with the checksum of a body, in addition to the signed `x-amz-content-sha256`.
    package enum ChecksumHeader: String, Hashable, Sendable {
        /// `x-amz-checksum-sha256`.
        case sha256
        /// `Content-MD5` (RFC 1864).
        case contentMD5
        /// No field.
        case none
    }

    /// The source of this package's knowledge of a provider.
    package enum Evidence: String, Hashable, Sendable {
        /// This package's tests run against that server.
        case tested
        /// The vendor's documentation or reports of users.
        case reported
        /// No source. The fields have conservative values.
        case unknown
    }

    /// The name for the command line, such as `aws` or `cloudflare-r2`.
    public package(set) var name: String
    /// The header field with the checksum of a body.
    package var checksumHeader: ChecksumHeader
    /// True if the entity tag of a single upload is the MD5 of its bytes. Otherwise it only identifies a version.
    package var entityTagIsMD5: Bool
    /// With ``entityTagIsMD5``, true if the tag of a multipart upload is the MD5 of its parts' MD5s. Otherwise a
    /// different tag proves nothing.
    package var multipartTagIsMD5: Bool
    /// True if `If-None-Match: *`, or its equivalent in the dialect, keeps an upload from replacing an object.
    package var conditionalWrites: Bool
    /// The signature and header names that the server expects.
    package var dialect: S3Dialect
    /// With ``conditionalWrites``, true if at most one of several concurrent conditional uploads succeeds.
    package var atomicCreation: Bool
    /// The minimum size in bytes of every part except the last.
    package var minimumPartSize: Int64
    /// The maximum number of parts of an upload.
    package var maximumPartCount: Int
    /// True if all parts except the last must have the same size.
    package var equalParts: Bool
    /// True if the server supports multipart uploads.
    package var supportsMultipart: Bool
    /// True if ``S3Addressing/automatic`` puts the bucket's name in the path.
    package var prefersPath: Bool
    /// True if the server keeps the SHA-256 of an upload and returns it later.
    package var keepsChecksums: Bool
    /// With ``keepsChecksums``, true if the server also returns the SHA-256 of each part of an incomplete upload.
    package var listsPartChecksums: Bool
    /// True if the server supports CRC-64/NVME for multipart uploads.
    ///
    /// Each part is then sent with its CRC, and the completion with the CRC of all bytes (`x-amz-checksum-crc64nvme` of
    /// the type `FULL_OBJECT`). The server compares, keeps and returns it. Over TLS it replaces
    /// ``ChecksumHeader/sha256``, and parts are sent with `UNSIGNED-PAYLOAD`. This saves one hash of all bytes.
    package var fullObjectCRC64: Bool
    /// The source of these facts.
    package var evidence: Evidence

    /// Any other server: path addressing, `Content-MD5`, equal parts, an entity tag that proves nothing, no conditions,
    /// and no stored checksums.
    ///
    /// All servers, old and new, support this. `Content-MD5` is as old as S3, and even servers that ignore the signed
    /// hash of the body check it. Some servers refuse `x-amz-checksum-sha256`. A condition that the server ignores
    /// would be a false promise, and keys are unique without it.
    public static let other = S3Provider(name: "other") { _ in }

    /// Returns the properties of a server that differs from the known ones.
    ///
    /// - Parameters:
    ///   - name: the name of the server.
    ///   - base: the known provider that is most similar. All properties that are not given are taken from it.
    ///   - checksSHA256: true if the server compares uploads with `x-amz-checksum-sha256`, false for `Content-MD5`.
    ///   - conditionalWrites: true if `If-None-Match: *` keeps an upload from replacing an object.
    ///   - minimumPartSize: the minimum size in bytes of every part except the last.
    ///   - maximumPartCount: the maximum number of parts of an upload.
    ///   - equalParts: true if all parts except the last must have the same size.
    public static func custom(
        _ name: String, like base: S3Provider = .other, checksSHA256: Bool? = nil, conditionalWrites: Bool? = nil,
        minimumPartSize: Int64? = nil, maximumPartCount: Int? = nil, equalParts: Bool? = nil
    ) -> S3Provider {
        var provider = base
        provider.name = name
        provider.evidence = .unknown
        if let checksSHA256 { provider.checksumHeader = checksSHA256 ? .sha256 : .contentMD5 }
        if let conditionalWrites { provider.conditionalWrites = conditionalWrites }
        if let minimumPartSize { provider.minimumPartSize = minimumPartSize }
        if let maximumPartCount { provider.maximumPartCount = maximumPartCount }
        if let equalParts { provider.equalParts = equalParts }
        return provider
    }

    /// True if a multipart upload can be kept from replacing an object.
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
