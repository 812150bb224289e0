import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS

/// Pictures: taken in, sent, deleted, and all of them on one page.
struct PictureRoutes: Sendable {
    let parts: WebParts

    static let pageSize = 24

    func add(to router: Router<JournalContext>) {
        router.post("/records/:id/pictures", use: take)
        router.get("/records/:id/images/:name", use: send)
        router.post("/records/:id/images/:name/delete", use: delete)
        router.get("/files/:id", use: sendFile)
        router.get("/files/:id/thumbnail", use: sendThumbnail)
        router.get("/files/:id/preview", use: sendPreview)
        router.get("/files/:id/view", use: show)
        router.get("/pictures", use: list)
    }

    /// One picture is the whole body of one request, and goes to the disk as it comes.
    @Sendable func take(_ request: Request, _ context: JournalContext) async throws -> Response {
        guard let token = request.headers[.formToken], parts.sessions.isToken(token, of: context.session) else {
            throw Form.foreign
        }
        let body = try PictureBody(request, limit: parts.options.maxPictureByteCount)
        let record = try await parts.journal.loadRecord(context.id())
        let name = try await parts.turns.run {
            try await parts.journal.addImage(from: body, for: record, fileExtension: body.type.fileExtension)
        }
        let file = try await parts.journal.imageFile(filename: name, for: record)
        return Response(
            status: .created, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: #"{"name":"\#(name)","file":"\#(file.id)"}"#)))
    }

    @Sendable func send(_ request: Request, _ context: JournalContext) async throws -> Response {
        let record = try await parts.journal.loadRecord(context.id())
        let file = try await parts.journal.imageFile(filename: context.parameters.get("name") ?? "", for: record)
        return try await PictureReply(lfs: parts.lfs).reply(to: request, with: file)
    }

    @Sendable func delete(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let record = try await parts.journal.loadRecord(context.id())
        // Not the name in the address: by now another picture may have it.
        guard let file = FileID(form["file"]) else { throw WebError(.badRequest, "Choose a picture of the record.") }
        do {
            try await parts.journal.deleteImage(file, for: record)
        } catch FileStorageError.imageNotFound {
            // Another window or device was first.
        }
        return parts.redirect(to: record.path)
    }

    @Sendable func sendFile(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await PictureReply(lfs: parts.lfs).reply(to: request, with: file(context))
    }

    @Sendable func sendThumbnail(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await send(.thumbnail, request, context)
    }

    @Sendable func sendPreview(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await send(.preview, request, context)
    }

    private func send(_ size: SmallSize, _ request: Request, _ context: JournalContext) async throws -> Response {
        let file = try await file(context)
        guard let thumbnails = parts.thumbnails else {
            guard try await parts.lfs.contents(of: file) != nil else { return Self.placeholder }
            return try await PictureReply(lfs: parts.lfs).reply(to: request, with: file)
        }
        let headers: HTTPFields = [
            .eTag: "\"\(file.sha256)-\(size.edge)\"", .cacheControl: "private, no-cache",
            .contentType: "image/jpeg",
        ]
        if request.headers[.ifNoneMatch] == headers[.eTag] { return Response(status: .notModified, headers: headers) }
        guard let data = try await thumbnails.data(of: file, size) else { return Self.placeholder }
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    /// The page of one picture.
    @Sendable func show(_ request: Request, _ context: JournalContext) async throws -> Response {
        let file = try await file(context)
        let upload = try await parts.journal.database.read { db in try Upload.fetchOne(db, key: file.id) }
        let content = SinglePictureView(
            file, upload, try await parts.appearance(), makesSmall: parts.thumbnails != nil)
        let name = file.name ?? "without a name"
        return try await parts.page("view", "Picture \(name)", at: "/pictures", context, content)
    }

    /// Of what cannot be made small, and of what another device has not uploaded yet.
    private static var placeholder: Response {
        Response(
            status: .ok, headers: [.contentType: "image/svg+xml", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.missing_svg)))
    }

    private func file(_ context: JournalContext) async throws -> FileData {
        let id = FileID(try context.id().text)
        guard let id, let file = try await parts.journal.database.read({ db in try FileData.fetchOne(db, key: id) })
        else { throw WebError.noSuchPage }
        return file
    }

    @Sendable func list(_ request: Request, _ context: JournalContext) async throws -> Response {
        let place = try Place.read(request)
        let records = try await parts.journal.loadRecords(before: place, limit: Self.pageSize, withImages: true)
        let views = try await parts.views(records)
        var (albums, ownAlbums): ([AlbumView], [AlbumView]) = ([], [])
        let all = try await parts.journal.loadAllAlbums(of: AlbumRoutes.owner)
        for album in all.albums {
            let known = try await parts.album(album.id)
            albums.append(AlbumView(album, isForeign: known.isForeign))
            if known.canChange { ownAlbums.append(albums[albums.count - 1]) }
        }
        let groups = PictureGroupView.groups(
            zip(records, views).map { (LocalTime($0.zone).day($0.start), $1) },
            by: try await parts.appearance().grouping)
        let content = PicturesView(
            albums: albums, unreadable: all.unreadable.map(UnreadableAlbumView.init), ownAlbums: ownAlbums,
            hasAlbums: !ownAlbums.isEmpty, groups: groups,
            older: records.last.map(Place.text) ?? "",
            hasOlder: records.count == Self.pageSize, isEmpty: records.isEmpty)
        return try await parts.page("pictures", "Pictures", at: "/pictures", context, content)
    }
}
