import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// Where a bucket is, and how its objects' paths are written.
struct S3Location: Sendable {
    let bucket: String
    /// What stands before every key, with the slash at its end; empty for none.
    let prefix: String
    /// nil for Amazon's own, which depends on the region.
    private let endpoint: Endpoint?
    private let addressing: S3Addressing

    /// - Throws: ``StorageError/Code/invalidRequest``.
    init(bucket: String, prefix: String, endpoint: URL?, addressing: S3Addressing) throws(StorageError) {
        guard Self.isBucket(bucket) else {
            throw StorageError(
                .invalidRequest, "'\(bucket.prefix(80))' is not the name of a bucket: use letters, digits, '.' and '-'."
            )
        }
        guard prefix.utf8.count <= 400, !prefix.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else {
            throw StorageError(
                .invalidRequest, "The prefix of the keys has control characters or more than 400 bytes: choose another."
            )
        }
        self.bucket = bucket
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.endpoint = try endpoint.map { url throws(StorageError) in try Endpoint(url) }
        self.addressing = addressing
    }

    /// The same however the bucket is addressed, and in whatever region it turns out to be.
    var text: String {
        let server = endpoint.map { $0.origin.authority + $0.path } ?? "amazonaws.com"
        return "s3:\(server)/\(bucket)/\(prefix)"
    }

    /// The bucket as it is reached in a region.
    func place(in region: String) throws(StorageError) -> S3Place {
        let endpoint = if let endpoint { endpoint } else { try Endpoint(Self.amazonEndpoint(region)) }
        let origin = endpoint.origin
        let isVirtual =
            switch addressing {
            case .path: false
            case .virtual: true
            // A dot in the bucket's name would not fit the server's certificate.
            case .automatic: !S3Provider.detect(endpoint: origin.host).prefersPath && !bucket.contains(".")
            }
        if isVirtual {
            let host = HTTPOrigin(isSecure: origin.isSecure, host: "\(bucket).\(origin.host)", port: origin.port)
            return S3Place(origin: host, bucketPath: endpoint.path, encodedPrefix: PercentEncoding.path(prefix))
        }
        return S3Place(
            origin: origin, bucketPath: "\(endpoint.path)/\(bucket)", encodedPrefix: PercentEncoding.path(prefix))
    }

    /// The host of the server, without that of the bucket.
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

    /// Wider than Amazon's own rule: others, and old buckets, have capitals and underscores.
    private static func isBucket(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-._".utf8.contains($0) }
    }
}
