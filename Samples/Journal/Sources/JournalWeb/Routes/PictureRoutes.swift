import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS

/// The routes that receive, send and delete pictures.
struct PictureRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.post("/records/:id/pictures", use: take)
        router.get("/records/:id/images/:name", use: send)
        router.form("/records/:id/images/:name/delete", of: parts, use: delete)
        router.get("/files/:id", use: sendFile)
        for size in [SmallSize.thumbnail, .tile, .preview] {
            router.get("/files/:id/\(size.rawValue)") { try await send(size, request: $0, context: $1) }
        }
        router.get("/files/:id/view", use: show)
    }

    /// Receives one picture as the body of a request and writes its bytes to the disk as they arrive.
    @Sendable func take(_ request: Request, context: JournalContext) async throws -> Response {
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

    @Sendable func send(_ request: Request, context: JournalContext) async throws -> Response {
        let record = try await parts.journal.loadRecord(context.id())
        let file = try await parts.journal.imageFile(filename: context.parameters.get("name") ?? "", for: record)
        return try await PictureReply(lfs: parts.lfs).reply(to: request, with: file)
    }

    @Sendable func delete(_ form: Form, context: JournalContext) async throws -> String {
        let record = try await parts.journal.loadRecord(context.id())
        // The name in the path is not used, since another picture may have it by now.
        let file = try form.file()
        do {
            try await parts.journal.trashImage(file, for: record)
        } catch FileStorageError.imageNotFound {
            // Another window or device has already deleted it.
        }
        return "\(record.path)?deleted=\(file)"
    }

    @Sendable func sendFile(_ request: Request, context: JournalContext) async throws -> Response {
        try await PictureReply(lfs: parts.lfs).reply(to: request, with: file(context))
    }

    private func send(_ size: SmallSize, request: Request, context: JournalContext) async throws -> Response {
        let file = try await file(context)
        guard let thumbnails = parts.thumbnails else {
            guard try await parts.lfs.contents(of: file) != nil else { return Self.placeholder }
            return try await PictureReply(lfs: parts.lfs).reply(to: request, with: file)
        }
        return try await Self.reply(to: request, with: size, of: file) { try await thumbnails.data(of: file, size) }
    }

    /// Returns a thumbnail, or a placeholder if it cannot be created.
    static func reply(
        to request: Request, with size: SmallSize, of file: FileData, _ data: () async throws -> Data?
    ) async throws -> Response {
        // An address that names the content never has another one. A logout clears the browser's cache.
        let isNamed = request.fields["v"] == PictureView.version(of: file)
        let headers: HTTPFields = [
            .eTag: "\"\(file.sha256)-\(size.edge)\"",
            .cacheControl: isNamed ? "private, max-age=31536000, immutable" : "private, no-cache",
            .contentType: "image/jpeg",
        ]
        if request.headers[.ifNoneMatch] == headers[.eTag] { return Response(status: .notModified, headers: headers) }
        guard let data = try await data() else { return placeholder }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    /// Shows the page of one picture.
    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let image = try await parts.image(context)
        let file = image.file
        let content = SinglePictureView(
            file, badge: try await parts.badges(of: [image]).badge(image), place: try await parts.place(of: file),
            appearance: try await parts.appearance(), makesSmall: parts.thumbnails != nil)
        return try await parts.page(
            "view", title: content.place.title, at: "/pictures", context: context, content: content)
    }

    /// The reply for a file without a thumbnail, and for one that another device has not uploaded yet.
    static var placeholder: Response {
        Response(
            status: .ok, headers: [.contentType: "image/svg+xml", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.missing_svg)))
    }

    private func file(_ context: JournalContext) async throws -> FileData { try await parts.image(context).file }
}
