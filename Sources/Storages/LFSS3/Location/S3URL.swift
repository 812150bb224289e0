public import Foundation
import LFSHTTPStorage
public import LFSStorage

/// The URL of a bucket as users write it in settings and on command lines:
/// `s3://bucket/prefix?endpoint=URL&region=NAME`, or `gs://bucket/prefix` for Google Cloud Storage.
///
/// Missing values, and credentials including Google's HMAC keys, come from the environment and the files of the AWS
/// tools, see ``S3Environment``. A URL with a secret is rejected.
public struct S3URL: Hashable, Sendable {
    /// A sample URL for help texts.
    public static let example = "s3://bucket/prefix?endpoint=URL&region=NAME"
    /// The accepted schemes.
    public static let schemes = ["s3", "gs"]

    /// The name of the bucket.
    public var bucket: String
    /// The prefix of every key. A slash separates them.
    public var prefix = ""
    /// `endpoint`: the URL of the server. An `http` URL is allowed because the user wrote it explicitly.
    public var endpoint: URL?
    /// `region`: the name of the region.
    public var region: String?
    /// `addressing`: `automatic` (or `auto`), `path` or `virtual`.
    package var addressing = S3Addressing.automatic
    /// `provider`: the name of a known provider.
    package var provider: S3Provider?
    /// `profile`: the profile of the AWS tools' files with the credentials, region and endpoint.
    public var profile: String?
    /// `storage-class`: the storage class of new objects.
    package var storageClass: String?

    /// Parses a URL.
    ///
    /// - Throws: `StorageError.Code.invalidRequest`, with the correct form.
    public init(parsing text: String) throws(StorageError) {
        let url = try StorageURL(parsing: text, Self.form)
        guard Self.schemes.contains(url.scheme) else {
            throw StorageError(.invalidRequest, message: "'\(text)' is not the URL of a bucket. Write \(Self.example).")
        }
        guard !url.authority.contains(":") else { throw Self.form.secretFound }
        bucket = url.authority
        prefix = try url.prefix()
        endpoint = try url.server("endpoint", form: Self.form)
        region = url["region"]
        profile = url["profile"]
        storageClass = url["storage-class"]
        addressing =
            try url.choice("addressing", all: S3Addressing.allCases.map(\.rawValue)) {
                S3Addressing(rawValue: $0 == "auto" ? "automatic" : $0)
            } ?? .automatic
        provider = try url.choice("provider", all: S3Provider.all.map(\.name)) { S3Provider.named($0) }
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
