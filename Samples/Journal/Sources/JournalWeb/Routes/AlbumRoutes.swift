import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS

/// Albums: made, filled, emptied, deleted.
struct AlbumRoutes: Sendable {
    let parts: WebParts

    /// Who makes albums with this journal: the account's devices are one person.
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
        let album = try await parts.album(context.id())
        let items = try await parts.journal.loadImages(inAlbum: album.id).map { image in
            AlbumPageView.Item(picture: PictureView(asset: image), canRemove: album.canChange)
        }
        let members = album.members.map { AlbumMemberView($0, isMe: $0.accountID == album.account) }
        let content = AlbumPageView(
            album: AlbumView(album.album, isForeign: album.isForeign), items: items, isEmpty: items.isEmpty,
            isForeign: album.isForeign, canShare: parts.sync != nil && !album.isForeign, members: members,
            hasMembers: !members.isEmpty, mine: members.first { album.isForeign && $0.isMe })
        return try await parts.page("album", "Album \(album.album.name)", at: "/pictures", context, content)
    }

    @Sendable func put(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        guard let id = UUID(uuidString: form["album"]) else { throw WebError(.badRequest, "Choose an album.") }
        let album = try await parts.album(id)
        try album.requireChanging()
        var assets: [UUID] = []
        for text in form.all("picture").prefix(1_000) {
            guard let id = FileID(text) else { throw WebError(.badRequest, "Choose pictures of this page.") }
            guard let file = try await parts.journal.imageFile(id) else {
                throw WebError(.badRequest, "A picture that was chosen is gone by now. Choose again.")
            }
            assets.append(try await asset(of: file))
        }
        try await parts.journal.addAssets(assets, toAlbum: album.id)
        return parts.redirect(to: AlbumView(album.album).path)
    }

    @Sendable func remove(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let album = try await parts.album(context.id())
        try album.requireChanging()
        guard let file = FileID(form["file"]) else { throw WebError(.badRequest, "Choose a picture of the album.") }
        do {
            try await parts.journal.removeImage(file, fromAlbum: album.id)
        } catch FileStorageError.imageNotFound {
            // Another window or device was first.
        }
        return parts.redirect(to: AlbumView(album.album).path)
    }

    @Sendable func delete(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await parts.form(request, context).requireSure()
        let album = try await parts.album(context.id())
        guard !album.isForeign else { throw WebError(.badRequest, "Who has shared the album may delete it: leave it.") }
        try await parts.journal.deleteAlbum(album.id)
        return parts.redirect(to: "/pictures")
    }

    /// The asset with the bytes of a picture; made if there is none.
    private func asset(of file: FileData) async throws -> UUID {
        if let known = try await parts.journal.loadAsset(checksum: file.sha256, ownerID: Self.owner) { return known.id }
        let asset = Asset(ownerID: Self.owner, file: file, createdAt: Date())
        try await parts.journal.saveAsset(asset)
        return asset.id
    }
}

/// An album, and what this account may do in it.
struct KnownAlbum: Sendable {
    let album: Album
    /// Whether another account has shared it.
    let isForeign: Bool
    let members: [AlbumMember]
    /// This account's id; nil where the journal was never shared.
    let account: String?

    var id: UUID { album.id }
    /// Whether this account puts pictures into it, and takes them out.
    var canChange: Bool { !isForeign || members.contains { $0.accountID == account && $0.role == .editor } }

    /// - Throws: ``WebError/Code/badRequest``.
    func requireChanging() throws(WebError) {
        guard canChange else {
            throw WebError(.badRequest, "Who has shared the album lets you see it, and not change it.")
        }
    }
}

extension WebParts {
    /// - Throws: ``WebError/Code/notFound``.
    func album(_ id: UUID) async throws -> KnownAlbum {
        guard let album = try await journal.loadAlbum(id) else { throw WebError.noSuchPage }
        return KnownAlbum(
            album: album, isForeign: try await journal.isShared(album: id),
            members: try await journal.loadMembers(ofAlbum: id), account: try await sync?.ownAccount())
    }
}
