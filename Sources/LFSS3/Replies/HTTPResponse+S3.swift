import LFSHTTP
import LFSHTTPStorage

extension HTTPResponseHead {
    /// Whether S3 has answered, and not a proxy or the sign-in page of a network, which say 200 to everything and may
    /// have an entity tag as well.
    var isFromS3: Bool { !isForeignPage && (status == 204 || hasFieldOfS3 || headers["etag"] != nil) }

    /// Whether it leads a page for people that S3 has not written; an object of S3 may be one.
    var isForeignPage: Bool { isPage && !hasFieldOfS3 }

    /// Whether it has a field that only S3 and servers like it write. A content delivery network before them puts
    /// fields of its own, `x-amz-cf-…`, on every answer, also on those that it gives by itself.
    var hasFieldOfS3: Bool { hasField(beginningWith: ["x-amz-", "x-goog-"], butNot: "x-amz-cf-") }
}

extension HTTPResponse {
    /// Whether S3 says that something is removed: 204, or 200 with a field of its own and without a page for people.
    var confirmsRemoval: Bool {
        switch status {
        case 204: true
        case 200: head.hasFieldOfS3 && body.isEmpty
        default: false
        }
    }
}
