import Foundation
import LFSHTTP
import LFSStorage

/// A bucket's server and its percent-encoded paths.
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

    /// Returns the path of an object, or of the bucket itself.
    func path(of key: ObjectKey?) -> String {
        // A key consists of characters that need no encoding.
        if let key { return objectPath + key.rawValue }
        return bucketPath.isEmpty ? "/" : bucketPath
    }

    /// Returns the URL of an object without a query.
    func url(of key: ObjectKey) -> URL {
        URL(string: objectURL + key.rawValue) ?? URL(fileURLWithPath: path(of: key))
    }
}
