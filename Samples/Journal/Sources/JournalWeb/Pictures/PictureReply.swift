import Foundation
import Hummingbird
import LFS

/// A reply with a picture, sent in chunks, completely or in part.
struct PictureReply: Sendable {
    let lfs: LFSManager

    /// The policy for a picture in its own window, which may do nothing. Browsers center the picture with an inline
    /// style.
    static let policy = """
        default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox
        """

    /// - Throws: ``WebError``, `LFSError`.
    func reply(to request: Request, with file: FileData) async throws -> Response {
        var headers = HTTPFields()
        headers[.eTag] = "\"\(file.sha256)\""
        // The bytes never change, but the permission to see them may.
        headers[.cacheControl] = "private, no-cache"
        headers[.acceptRanges] = "bytes"
        // A 304 needs this header too, since its headers replace those in the browser's cache.
        headers[.contentSecurityPolicy] = Self.policy
        if let known = request.headers[.ifNoneMatch], known.contains(file.sha256) || known == "*" {
            return Response(status: .notModified, headers: headers)
        }
        var wanted = ByteRange(request.headers[.range], of: file.byteCount)
        if let condition = request.headers[.ifRange], condition != "\"\(file.sha256)\"" { wanted = .whole }
        if wanted == .unsatisfiable {
            headers[.contentRange] = "bytes */\(file.byteCount)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        // Fetch the bytes before the reply starts, so that a failure can still change its status.
        guard let contents = try await lfs.contents(of: file) else {
            throw WebError(.notFound, message: "Another device has not uploaded this picture yet.")
        }
        if let type = try await PictureType.of(file, in: lfs) {
            headers[.contentType] = type.contentType
        } else {
            headers[.contentType] = "application/octet-stream"
            headers[.contentDisposition] = "attachment"
        }
        guard case .part(let range) = wanted else {
            return Response(status: .ok, headers: headers, body: Self.body(contents))
        }
        headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.byteCount)"
        return Response(status: .partialContent, headers: headers, body: Self.body(contents[range]))
    }

    private static func body(_ contents: FileContents) -> ResponseBody {
        ResponseBody(contentLength: Int(contents.byteCount)) { writer in
            for try await chunk in contents { try await writer.write(ByteBuffer(bytes: chunk)) }
            try await writer.finish(nil)
        }
    }
}
