import Foundation
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS
import NIOCore

/// Sends a picture in chunks, as a whole or in part.
struct PictureReply: Sendable {
    let lfs: LFSManager

    /// A picture in a window of its own may do nothing. The browser puts it into the middle, with a style of its own.
    static let policy = """
        default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox
        """

    /// - Throws: ``WebError``, `LFSError`.
    func reply(to request: Request, with file: FileData) async throws -> Response {
        var headers = HTTPFields()
        headers[.eTag] = "\"\(file.sha256)\""
        // It never changes, but who may see it does.
        headers[.cacheControl] = "private, no-cache"
        headers[.acceptRanges] = "bytes"
        // Also with a 304, whose headers take the place of those that the browser has.
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
        // Fetched now, if it is not here, so that a failure is still one that the reply can tell.
        guard let contents = try await lfs.contents(of: file) else {
            throw WebError(.notFound, "Another device has not uploaded this picture yet.")
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
