import Foundation
import Hummingbird
import JournalStorage

/// The routes of the page "Recently deleted", which restores pictures or deletes them finally.
struct TrashRoutes: Sendable {
    let parts: WebParts

    /// The maximum number of pictures on the page.
    static let maxPictures = 500

    func add(to router: Router<JournalContext>) {
        router.get("/trash", use: show)
        router.form("/trash/restore", of: parts) { form, _ in
            do {
                try await parts.journal.restoreImage(form.file())
            } catch FileStorageError.imageNotFound {
                throw WebError(.notFound, message: "This picture was deleted finally, or was already restored.")
            }
            return form.page ?? "/trash"
        }
        router.form("/trash/delete", of: parts) { form, _ in
            try await parts.journal.deleteTrashedImage(form.file())
            return "/trash"
        }
        router.form("/trash/empty", of: parts) { form, _ in
            try form.requireSure()
            try await parts.journal.emptyTrash(before: .distantFuture)
            return "/trash"
        }
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let deleted = try await parts.journal.loadDeletedImages(limit: Self.maxPictures)
        let badges = try await parts.badges(of: deleted.map(\.image))
        let content = TrashView(
            items: deleted.map { TrashView.Item($0, badges: badges, now: Date()) }, days: Trash.days)
        return try await parts.page(
            "trash", title: "Recently deleted", at: "/pictures", context: context, content: content)
    }
}
