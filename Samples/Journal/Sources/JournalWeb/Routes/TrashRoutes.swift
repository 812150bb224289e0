import Foundation
import Hummingbird
import JournalStorage
import LFS

/// The routes of the page "Recently deleted", which restores pictures or deletes them finally.
struct TrashRoutes: Sendable {
    let parts: WebParts

    /// The maximum number of pictures on the page.
    static let maxPictures = 500

    func add(to router: Router<JournalContext>) {
        router.get("/trash", use: show)
        router.post("/trash/restore", use: restore)
        router.post("/trash/delete", use: delete)
        router.post("/trash/empty", use: empty)
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let deleted = try await parts.journal.loadDeletedImages(limit: Self.maxPictures)
        let badges = try await parts.badges(of: deleted.map(\.image))
        let content = TrashView(
            items: deleted.map { TrashView.Item($0, badges: badges, now: Date()) }, isEmpty: deleted.isEmpty,
            days: Trash.days)
        return try await parts.page(
            "trash", title: "Recently deleted", at: "/pictures", context: context, content: content)
    }

    @Sendable func restore(_ request: Request, context: JournalContext) async throws -> Response {
        let file = try await file(request, context: context)
        do {
            try await parts.journal.restoreImage(file)
        } catch FileStorageError.imageNotFound {
            throw WebError(.notFound, message: "This picture was deleted finally, or was already restored.")
        }
        return parts.redirectBack(request, or: "/trash")
    }

    @Sendable func delete(_ request: Request, context: JournalContext) async throws -> Response {
        try await parts.journal.deleteTrashedImage(file(request, context: context))
        return parts.redirect(to: "/trash")
    }

    @Sendable func empty(_ request: Request, context: JournalContext) async throws -> Response {
        try await parts.form(request, context: context).requireSure()
        try await parts.journal.emptyTrash(before: .distantFuture)
        return parts.redirect(to: "/trash")
    }

    private func file(_ request: Request, context: JournalContext) async throws -> FileID {
        guard let file = FileID(try await parts.form(request, context: context)["file"]) else {
            throw WebError(.badRequest, message: "Choose a picture on the page Recently deleted.")
        }
        return file
    }
}
