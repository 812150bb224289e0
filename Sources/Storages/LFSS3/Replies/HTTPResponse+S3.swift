import LFSHTTP
import LFSHTTPStorage

extension HTTPResponseHead {
    /// True if S3 sent the reply. Proxies and sign-in pages answer 200 to everything and may send an entity tag too.
    var isFromS3: Bool { !isForeignPage && (status == 204 || hasFieldOfS3 || headers["etag"] != nil) }

    /// True for an HTML page that S3 did not send. An object on S3 may be a page too.
    var isForeignPage: Bool { isPage && !hasFieldOfS3 }

    /// True if the reply has a field that only S3 and compatible servers send. CDNs add `x-amz-cf-…` to every reply,
    /// even to those that they generate themselves.
    var hasFieldOfS3: Bool { hasField(beginningWith: ["x-amz-", "x-goog-"], butNot: "x-amz-cf-") }
}

extension HTTPResponse {
    /// True if the reply confirms a deletion as S3 does: 204, or 200 with a field of S3 and an empty body. A 204
    /// without a field of S3 may come from a proxy.
    var confirmsRemoval: Bool {
        switch status {
        case 204: true
        case 200: head.hasFieldOfS3 && body.isEmpty
        default: false
        }
    }
}
