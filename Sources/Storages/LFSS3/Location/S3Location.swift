import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The location of a bucket, and the form of its URLs.
struct S3Location: Sendable {
    let bucket: String
    /// The prefix of every key, with a trailing slash. Empty without a prefix.
    let prefix: String
    /// nil for Amazon's endpoint, which depends on the region.
    private let endpoint: Endpoint?
    private let addressing: S3Addressing

    /// - Throws: ``StorageError/Code/invalidRequest``.
    init(bucket: String, prefix: String, endpoint: URL?, addressing: S3Addressing) throws(StorageError) {
        guard Self.isBucket(bucket) else {
            throw StorageError(
                .invalidRequest,
                message: "'\(bucket.prefix(80))' is not the name of a bucket: use letters, digits, '.' and '-'."
            )
        }
        guard prefix.utf8.count <= 400, !prefix.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else {
            throw StorageError(
                .invalidRequest,
                message: "The prefix of the keys has control characters or more than 400 bytes: choose another."
            )
        }
        self.bucket = bucket
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.endpoint = try endpoint.map { url throws(StorageError) in try Endpoint(url) }
        self.addressing = addressing
    }

    /// A text for the location that does not depend on the addressing or the region.
    var text: String {
        let server = endpoint.map { $0.origin.authority + $0.path } ?? "amazonaws.com"
        return "s3:\(server)/\(bucket)/\(prefix)"
    }

    /// Returns the key of a listed name, or nil for a name that is not a key or is outside of this location.
    func key(listed name: String) -> ObjectKey? { name.text(afterPrefix: prefix).flatMap { ObjectKey(listed: $0) } }

    /// Returns the bucket's place in a region.
    func place(in region: String) throws(StorageError) -> S3Place {
        let endpoint = if let endpoint { endpoint } else { try Endpoint(Self.amazonEndpoint(region)) }
        let origin = endpoint.origin
        let isVirtual =
            switch addressing {
            case .path: false
            case .virtual: true
            // The server's wildcard certificate does not cover a bucket name with a dot.
            case .automatic: !S3Provider.detect(endpoint: origin.host).prefersPath && !bucket.contains(".")
            }
        if isVirtual {
            let host = HTTPOrigin(isSecure: origin.isSecure, host: "\(bucket).\(origin.host)", port: origin.port)
            return S3Place(origin: host, bucketPath: endpoint.path, encodedPrefix: PercentEncoding.path(prefix))
        }
        return S3Place(
            origin: origin, bucketPath: "\(endpoint.path)/\(bucket)", encodedPrefix: PercentEncoding.path(prefix))
    }

    /// Returns the host of the server, without the bucket.
    func host() throws(StorageError) -> String {
        if let endpoint { endpoint.origin.host } else { try Endpoint(Self.amazonEndpoint("us-east-1")).origin.host }
    }

    private static func amazonEndpoint(_ region: String) -> URL {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        var parts = URLComponents()
        parts.scheme = "https"
        parts.host = "s3.\(region).\(domain)"
        return parts.url ?? URL(fileURLWithPath: "/")
    }

    /// Accepts more than Amazon's rule, because other servers and old buckets use capitals and underscores.
    private static func isBucket(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-._".utf8.contains($0) }
    }
}
