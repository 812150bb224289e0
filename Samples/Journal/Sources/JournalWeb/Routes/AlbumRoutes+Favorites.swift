import Hummingbird
import JournalStorage
import LFS

extension AlbumRoutes {
    /// Marks a picture of an album as a favourite, or removes the mark.
    @Sendable func mark(_ form: Form, context: JournalContext) async throws -> String {
        let album = try await parts.album(context.id())
        try await parts.journal.setFavorite(form["favorite"] == "yes", file: form.file(), inAlbum: album.id)
        return AlbumView(album.album).path
    }
}
