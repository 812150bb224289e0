import Foundation
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS
import LFSCache

/// The route that sends the covers of albums: the first picture of an album, from the cache.
struct AlbumCoverRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.get("/albums/:id/cover", use: send)
    }

    @Sendable func send(_ request: Request, context: JournalContext) async throws -> Response {
        let album = try await parts.album(context.id())
        guard let thumbnails = parts.thumbnails, let file = try await parts.journal.loadCover(ofAlbum: album.id) else {
            return PictureRoutes.placeholder
        }
        let headers: HTTPFields = [
            .eTag: "\"\(file.sha256)-\(SmallSize.cover.edge)\"", .cacheControl: "private, no-cache",
            .contentType: "image/jpeg",
        ]
        if request.headers[.ifNoneMatch] == headers[.eTag] { return Response(status: .notModified, headers: headers) }
        guard let data = try await thumbnails.cover(of: file, album: album.id) else { return PictureRoutes.placeholder }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}
