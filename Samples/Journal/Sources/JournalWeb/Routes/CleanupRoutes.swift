import Foundation
import HTTPTypes
import Hummingbird
import LFSCache
import LFSSettings

/// The routes that empty the cache, and that choose the albums whose pictures stay on this device.
struct CleanupRoutes: Sendable {
    let parts: WebParts

    static let maxAlbums = 1_000

    func add(to router: Router<JournalContext>) {
        router.post("/settings/cache/clear", use: clear)
        router.form("/albums/:id/keep", of: parts, use: keep)
    }

    @Sendable func clear(_ request: Request, context: JournalContext) async throws -> Response {
        try await parts.form(request, context: context).requireSure()
        try await parts.cache?.removeAll()
        parts.thumbnails?.forgetFailures()
        var response = parts.redirect(to: "/settings")
        // The browser has pictures of the cache too.
        response.headers[.clearSiteData] = "\"cache\""
        return response
    }

    /// Adds an album to those whose pictures stay on this device, or removes it.
    @Sendable func keep(_ form: Form, context: JournalContext) async throws -> String {
        let album = AlbumView(try await parts.album(context.id()).album)
        guard ["yes", "no"].contains(form["keep"]) else {
            throw WebError(.badRequest, message: "Choose whether the pictures of the album stay on this device.")
        }
        let isFull = WebError(.badRequest, message: "The pictures of \(Self.maxAlbums) albums already stay here.")
        try await parts.settings.update(.cleanupAlbums) { albums in
            albums.removeAll { $0 == album.id }
            guard form["keep"] == "yes" else { return }
            guard albums.count < Self.maxAlbums else { throw isFull }
            albums.append(album.id)
        }
        return album.path
    }
}
