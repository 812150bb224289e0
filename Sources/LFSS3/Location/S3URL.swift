public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// A bucket as people write it in settings and on command lines: `s3://bucket/prefix?endpoint=URL&region=NAME`, or
/// `gs://bucket/prefix` for Google Cloud Storage.
///
/// What it leaves open comes from the environment and the files of the AWS tools, see ``S3Environment``; Google's HMAC
/// keys, too. It holds no secret, and is refused with one.
public struct S3URL: Hashable, Sendable {
    /// How one is written, for help texts.
    public static let example = "s3://bucket/prefix?endpoint=URL&region=NAME"
    /// What it may begin with.
    public static let schemes = ["s3", "gs"]

    /// The name of the bucket.
    public var bucket: String
    /// Stands before every key, with a slash between them.
    public var prefix = ""
    /// `endpoint`: the URL of the server. An `http` one counts as allowed, since somebody has written it out.
    public var endpoint: URL?
    /// `region`: its name.
    public var region: String?
    /// `addressing`: `automatic`, `path` or `virtualHost`.
    public var addressing = S3Addressing.automatic
    /// `provider`: the name of a known one.
    public var provider: S3Provider?
    /// `profile`: the one of the AWS tools' files that has credentials, region and endpoint.
    public var profile: String?
    /// `storage-class`: of new objects.
    public var storageClass: String?

    /// Takes a URL apart.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with what to write instead.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        guard Self.schemes.contains(url.scheme) else {
            throw StorageError(.invalidRequest, "'\(text)' is not the URL of a bucket. Write \(Self.example).")
        }
        guard !url.authority.contains(":") else { throw Self.form.secretFound }
        bucket = url.authority
        prefix = try url.prefix()
        endpoint = try url.server("endpoint", Self.form)
        region = url["region"]
        profile = url["profile"]
        storageClass = url["storage-class"]
        addressing =
            try url.choice("addressing", S3Addressing.allCases.map(\.rawValue)) {
                S3Addressing(rawValue: $0 == "auto" ? "automatic" : $0)
            } ?? .automatic
        provider = try url.choice("provider", S3Provider.all.map(\.name)) { S3Provider.named($0) }
        if url.scheme == "gs" {
            endpoint = endpoint ?? URL(string: "https://storage.googleapis.com")
            provider = provider ?? .googleCloud
            region = region ?? provider?.dialect.region
        }
    }

    private static let form = StorageURL.Form(
        example: example, noun: "bucket",
        secrets: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or a profile",
        settings: ["endpoint", "region", "addressing", "provider", "profile", "storage-class"],
        aliases: ["endpoint-url": "endpoint", "addressing-style": "addressing"])
}
