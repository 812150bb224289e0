import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS

/// Albums: made, filled, emptied, deleted.
struct AlbumRoutes: Sendable {
    let parts: WebParts

    /// One person has a journal, until others share it.
    static let owner = "me"

    func add(to router: Router<JournalContext>) {
        router.post("/albums", use: make)
        router.post("/albums/add", use: put)
        router.get("/albums/:id", use: show)
        router.post("/albums/:id/remove", use: remove)
        router.post("/albums/:id/delete", use: delete)
    }

    @Sendable func make(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let name = form["name"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !name.isEmpty, name.count <= 200 else {
            throw WebError(.badRequest, "An album has a name of at most 200 characters.")
        }
        try await parts.journal.saveAlbum(Album(ownerID: Self.owner, name: name, createdAt: Date()))
        return parts.redirect(to: "/pictures")
    }

    @Sendable func show(_ request: Request, _ context: JournalContext) async throws -> Response {
        let album = try await album(context.id())
        let assets = try await parts.journal.loadAssets(inAlbum: album.id)
        let images = try await parts.journal.database.read { db in
            try FileData.filter(keys: assets.map(\.fileID)).including(optional: FileData.upload)
                .asRequest(of: StoredImage.self).fetchAll(db)
        }
        let known = Dictionary(images.map { ($0.file.id, $0) }) { first, _ in first }
        let items = assets.compactMap { asset in
            known[asset.fileID].map {
                AlbumPageView.Item(asset: asset.id.text, picture: PictureView(asset: $0))
            }
        }
        let content = AlbumPageView(album: AlbumView(album), items: items, isEmpty: items.isEmpty)
        return try await parts.page("album", "Album \(album.name)", at: "/pictures", context, content)
    }

    @Sendable func put(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        guard let id = UUID(uuidString: form["album"]) else { throw WebError(.badRequest, "Choose an album.") }
        let album = try await album(id)
        var assets = try await parts.journal.loadAssets(inAlbum: album.id).map(\.id)
        for name in form.all("picture").prefix(1_000) {
            guard let image = ImageName(name) else { throw WebError(.badRequest, "Choose pictures of this page.") }
            let asset = try await asset(of: image)
            if !assets.contains(asset) { assets.append(asset) }
        }
        try await parts.journal.setAssets(assets, inAlbum: album.id)
        return parts.redirect(to: AlbumView(album).path)
    }

    @Sendable func remove(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let album = try await album(context.id())
        let assets = try await parts.journal.loadAssets(inAlbum: album.id).map(\.id)
        let gone = UUID(uuidString: form["asset"])
        try await parts.journal.setAssets(assets.filter { $0 != gone }, inAlbum: album.id)
        return parts.redirect(to: AlbumView(album).path)
    }

    @Sendable func delete(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await parts.form(request, context).requireSure()
        try await parts.journal.deleteAlbum(try context.id())
        return parts.redirect(to: "/pictures")
    }

    private func album(_ id: UUID) async throws -> Album {
        let albums = try await parts.journal.loadAlbums(of: Self.owner)
        guard let album = albums.first(where: { $0.id == id }) else { throw WebError.noSuchPage }
        return album
    }

    /// The asset with the bytes of a picture; made if there is none.
    private func asset(of name: ImageName) async throws -> UUID {
        let record = try await parts.journal.loadRecord(name.recordID)
        let file = try await parts.journal.imageFile(filename: name.description, for: record)
        if let known = try await parts.journal.loadAsset(checksum: file.sha256, ownerID: Self.owner) { return known.id }
        let asset = Asset(ownerID: Self.owner, file: file, createdAt: Date())
        try await parts.journal.saveAsset(asset)
        return asset.id
    }
}
