import Foundation
import Hummingbird
import JournalStorage
import LFS
import LFSSettings
import LFSSync

/// The routes that create, show, fill, change and delete albums.
struct AlbumRoutes: Sendable {
    let parts: WebParts

    /// The owner of the albums of this journal, which is the same for all devices of the account.
    static let owner = "me"
    /// The maximum number of albums whose pictures stay on this device.
    private static let maxKept = 1_000

    func add(to router: Router<JournalContext>) {
        router.form("/albums", of: parts, use: make)
        router.form("/albums/add", of: parts, use: put)
        router.get("/albums/:id", use: show)
        router.get("/albums/:id/cover", use: sendCover)
        router.form("/albums/:id/favorite", of: parts, use: mark)
        router.form("/albums/:id/keep", of: parts, use: keep)
        router.form("/albums/:id/remove", of: parts, use: remove)
        router.form("/albums/:id/delete", of: parts, use: delete)
    }

    @Sendable func make(_ form: Form, context: JournalContext) async throws -> String {
        let name = form["name"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !name.isEmpty, name.count <= 200 else {
            throw WebError(.badRequest, message: "The name of an album has 1 to 200 characters.")
        }
        try await parts.journal.saveAlbum(Album(ownerID: Self.owner, name: name, createdAt: Date()))
        return "/pictures"
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let album = try await parts.album(context.id())
        let images = try await parts.journal.loadImages(inAlbum: album.id)
        let badges = try await parts.badges(of: images)
        let favorites = try await parts.journal.loadFavorites(inAlbum: album.id)
        let items = images.map { image in
            AlbumPageView.Item(
                picture: PictureView(asset: image, badges: badges), canRemove: album.canChange,
                isOwn: favorites[image.file.id] != nil, isFavorite: favorites[image.file.id] == true)
        }
        let members = album.members.map { AlbumMemberView($0, isMe: $0.accountID == album.account) }
        let content = AlbumPageView(
            album: AlbumView(album.album, isForeign: album.isForeign), items: items,
            isForeign: album.isForeign, canShare: parts.sync != nil && !album.isForeign, members: members,
            isKept: try await isKept(album.id),
            mine: members.first { album.isForeign && $0.isMe })
        return try await parts.page(
            "album", title: "Album \(album.album.name)", at: "/pictures", context: context, content: content)
    }

    /// Returns true if the pictures of an album stay on this device. An unreadable setting does not prevent the page.
    private func isKept(_ album: UUID) async throws -> Bool {
        let snapshot = try await parts.settings.snapshot()
        return (try? snapshot.get(.cleanupAlbums))?.contains(album.text) ?? false
    }

    /// Sends the cover of an album: its first picture, from the cache.
    @Sendable func sendCover(_ request: Request, context: JournalContext) async throws -> Response {
        let album = try await parts.album(context.id())
        guard let thumbnails = parts.thumbnails, let file = try await parts.journal.loadCover(ofAlbum: album.id) else {
            return PictureRoutes.placeholder
        }
        return try await PictureRoutes.reply(to: request, with: .cover, of: file) {
            try await thumbnails.cover(of: file, album: album.id)
        }
    }

    /// Marks a picture of an album as a favourite, or removes the mark.
    @Sendable func mark(_ form: Form, context: JournalContext) async throws -> String {
        let album = try await parts.album(context.id())
        try await parts.journal.setFavorite(form["favorite"] == "yes", file: form.file(), inAlbum: album.id)
        return AlbumView(album.album).path
    }

    /// Adds an album to those whose pictures stay on this device, or removes it.
    @Sendable func keep(_ form: Form, context: JournalContext) async throws -> String {
        let album = AlbumView(try await parts.album(context.id()).album)
        guard ["yes", "no"].contains(form["keep"]) else {
            throw WebError(.badRequest, message: "Choose whether the pictures of the album stay on this device.")
        }
        let isFull = WebError(.badRequest, message: "The pictures of \(Self.maxKept) albums already stay here.")
        try await parts.settings.update(.cleanupAlbums) { albums in
            albums.removeAll { $0 == album.id }
            guard form["keep"] == "yes" else { return }
            guard albums.count < Self.maxKept else { throw isFull }
            albums.append(album.id)
        }
        return album.path
    }

    @Sendable func put(_ form: Form, context: JournalContext) async throws -> String {
        guard let id = UUID(uuidString: form["album"]) else { throw WebError(.badRequest, message: "Choose an album.") }
        let album = try await parts.album(id)
        try album.requireChanging()
        var assets: [UUID] = []
        for text in form.all("picture").prefix(GridRoutes.maxChosen) {
            guard let id = FileID(text) else { throw WebError(.badRequest, message: "Choose pictures on this page.") }
            guard let file = try await parts.journal.imageFile(id) else {
                throw WebError(.badRequest, message: "One of the chosen pictures was deleted. Choose again.")
            }
            assets.append(try await asset(of: file))
        }
        try await parts.journal.addAssets(assets, toAlbum: album.id)
        await parts.thumbnails?.removeCover(ofAlbum: album.id)
        return AlbumView(album.album).path
    }

    @Sendable func remove(_ form: Form, context: JournalContext) async throws -> String {
        let album = try await parts.album(context.id())
        try album.requireChanging()
        do {
            try await parts.journal.removeImage(form.file(), fromAlbum: album.id)
        } catch FileStorageError.imageNotFound {
            // Another window or device has already removed it.
        }
        await parts.thumbnails?.removeCover(ofAlbum: album.id)
        return AlbumView(album.album).path
    }

    @Sendable func delete(_ form: Form, context: JournalContext) async throws -> String {
        try form.requireSure()
        let album = try await parts.album(context.id())
        guard !album.isForeign else {
            throw WebError(.badRequest, message: "Only the album's owner can delete it. You can leave it.")
        }
        try await parts.journal.deleteAlbum(album.id)
        await parts.thumbnails?.removeCover(ofAlbum: album.id)
        return "/pictures"
    }

    /// Returns the asset with the bytes of a picture. A missing asset is created.
    private func asset(of file: FileData) async throws -> UUID {
        if let known = try await parts.journal.loadAsset(checksum: file.sha256, ownerID: Self.owner) { return known.id }
        let asset = Asset(ownerID: Self.owner, file: file, createdAt: Date())
        try await parts.journal.saveAsset(asset)
        return asset.id
    }
}

/// An album with the permissions of this account.
struct KnownAlbum: Sendable {
    let album: Album
    /// Indicates that another account has shared the album.
    let isForeign: Bool
    let members: [AlbumMember]
    /// The id of this account. Nil if the journal was never shared.
    let account: String?

    var id: UUID { album.id }
    /// Indicates that this account may add and remove pictures.
    var canChange: Bool { !isForeign || members.contains { $0.accountID == account && $0.role == .editor } }

    /// - Throws: ``WebError/Code/badRequest``.
    func requireChanging() throws(WebError) {
        guard canChange else {
            throw WebError(.badRequest, message: "You can view this album, but not change it.")
        }
    }
}

extension WebParts {
    /// - Throws: ``WebError/Code/notFound``.
    func album(_ id: UUID) async throws -> KnownAlbum {
        guard let album = try await journal.loadAlbum(id) else { throw WebError.noSuchPage }
        return try await known(album)
    }

    /// Returns an album with the permissions of this account.
    func known(_ album: Album) async throws -> KnownAlbum {
        KnownAlbum(
            album: album, isForeign: try await journal.isShared(album: album.id),
            members: try await journal.loadMembers(ofAlbum: album.id), account: try await sync?.client.ownAccount())
    }
}
