import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// Where a bucket is, and how its objects' paths are written.
struct S3Location: Sendable {
    let bucket: String
    /// What stands before every key, with the slash at its end; empty for none.
    let prefix: String
    private let endpoint: URL?
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
        if let endpoint { try Self.check(endpoint) }
        self.bucket = bucket
        self.prefix = prefix.isEmpty || prefix.hasSuffix("/") ? prefix : prefix + "/"
        self.endpoint = endpoint
        self.addressing = addressing
    }

    /// The bucket as it is reached in a region.
    func place(in region: String) throws(StorageError) -> S3Place {
        let host = endpoint ?? Self.amazonEndpoint(region)
        let origin: HTTPOrigin
        do {
            origin = try HTTPOrigin(host)
        } catch {
            throw StorageError(.invalidRequest, error.message, cause: error)
        }
        let base = PercentEncoding.path(host.path(percentEncoded: false)).trimmingSlashesAtEnd
        let isVirtual =
            switch addressing {
            case .path: false
            case .virtual: true
            // A dot in the bucket's name would not fit the server's certificate.
            case .automatic: !S3Provider.detect(endpoint: origin.host).prefersPath && !bucket.contains(".")
            }
        if isVirtual {
            let host = HTTPOrigin(isSecure: origin.isSecure, host: "\(bucket).\(origin.host)", port: origin.port)
            return S3Place(origin: host, bucketPath: base, encodedPrefix: PercentEncoding.path(prefix))
        }
        return S3Place(
            origin: origin, bucketPath: "\(base)/\(bucket)", encodedPrefix: PercentEncoding.path(prefix))
    }

    /// Whether a URL is no more than a server and a plain path: whatever else stood in it would be dropped, or
    /// would lead somewhere else than it seems.
    private static func check(_ endpoint: URL) throws(StorageError) {
        let parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: true)
        let reason: String? =
            if parts?.user != nil || parts?.password != nil {
                "has a user name or a password in it: leave them out, and give them as credentials"
            } else if parts?.percentEncodedQuery != nil || parts?.percentEncodedFragment != nil {
                "has a '?' or a '#': write scheme, host and port, and no more than a path behind them"
            } else if let path = parts?.percentEncodedPath, !isPlain(path) {
                "has a path with '.', '..', '//' or an encoded slash in it: write the path that is meant"
            } else {
                nil
            }
        if let reason { throw StorageError(.invalidRequest, "The endpoint \(reason).") }
    }

    private static func isPlain(_ path: String) -> Bool {
        !path.contains("//")
            && path.split(separator: "/").allSatisfy { part in
                guard let decoded = part.removingPercentEncoding else { return false }
                return ![".", ".."].contains(decoded) && !decoded.contains { $0 == "/" || $0 == "\\" }
            }
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
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// A bucket as it is reached: the server, and the paths below it, percent-encoded.
struct S3Place: Sendable {
    let origin: HTTPOrigin
    fileprivate let bucketPath: String
    fileprivate let encodedPrefix: String

    fileprivate init(origin: HTTPOrigin, bucketPath: String, encodedPrefix: String) {
        self.origin = origin
        self.bucketPath = bucketPath
        self.encodedPrefix = encodedPrefix
    }

    /// The path of an object, or of the bucket itself.
    func path(of key: ObjectKey?) -> String {
        // A key needs no encoding: its alphabet is its rule.
        if let key { return "\(bucketPath)/\(encodedPrefix)\(key.rawValue)" }
        return bucketPath.isEmpty ? "/" : bucketPath
    }

    /// Where an object is, without a query.
    func url(of key: ObjectKey) -> URL {
        URL(string: "\(origin)\(path(of: key))") ?? URL(fileURLWithPath: path(of: key))
    }
}

extension String {
    fileprivate var trimmingSlashesAtEnd: String {
        var text = self[...]
        while text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
