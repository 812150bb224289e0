import Foundation
import LFSHTTP
import LFSStorage

/// A bucket as it is reached: the server, and the paths below it, percent-encoded.
struct S3Place: Sendable {
    let origin: HTTPOrigin
    private let bucketPath: String
    /// The path of every object without its key.
    private let objectPath: String
    /// The URL of every object without its key.
    private let objectURL: String

    init(origin: HTTPOrigin, bucketPath: String, encodedPrefix: String) {
        self.origin = origin
        self.bucketPath = bucketPath
        objectPath = "\(bucketPath)/\(encodedPrefix)"
        objectURL = "\(origin)\(objectPath)"
    }

    /// The path of an object, or of the bucket itself.
    func path(of key: ObjectKey?) -> String {
        // A key needs no encoding: its alphabet is its rule.
        if let key { return objectPath + key.rawValue }
        return bucketPath.isEmpty ? "/" : bucketPath
    }

    /// Where an object is, without a query.
    func url(of key: ObjectKey) -> URL {
        URL(string: objectURL + key.rawValue) ?? URL(fileURLWithPath: path(of: key))
    }
}
