import Hummingbird
import JournalStorage
import LFS

extension AlbumRoutes {
    /// Marks a picture of an album as a favourite, or removes the mark.
    @Sendable func mark(_ request: Request, context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context: context)
        let album = try await parts.album(context.id())
        guard let file = FileID(form["file"]) else {
            throw WebError(.badRequest, message: "Choose a picture of the album.")
        }
        try await parts.journal.setFavorite(form["favorite"] == "yes", file: file, inAlbum: album.id)
        return parts.redirect(to: AlbumView(album.album).path)
    }
}
