import HTTPTypes
import Hummingbird
import LFS

/// The routes that log the journal out of its account, and that reset it.
struct RemovalRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.post("/settings/remove", use: remove)
    }

    /// Requests a removal. The program carries it out when the replies are sent, and then serves an empty journal.
    @Sendable func remove(_ request: Request, context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context: context)
        try form.requireSure()
        guard let removals = parts.options.removal else {
            throw WebError(.notFound, message: "This server cannot remove the journal. Use 'journal account reset'.")
        }
        guard let removal = JournalRemoval(rawValue: form["what"]), let lost = Int(form["lost"]), lost >= 0 else {
            throw WebError(.badRequest, message: "Choose Log out or Full reset on the page Settings.")
        }
        guard try await parts.lfs.filesLostByReset() <= lost else {
            throw WebError(
                .badRequest,
                message: "More pictures than this page has said are not on the storage. Reload the page Settings.")
        }
        removals.make(RemovalRequest.Demand(removal: removal, lost: lost))
        let content = RemovedView(removal)
        var response = try await parts.page(
            "removed", title: content.title, at: "/settings", context: context, isLive: false, content: content)
        response.headers[.setCookie] = "\(Sessions.cookie)=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        response.headers[.clearSiteData] = "\"cache\""
        return response
    }
}

/// The page after the request of a removal.
struct RemovedView: Sendable {
    let title: String
    let isReset: Bool

    init(_ removal: JournalRemoval) {
        isReset = removal == .everything
        title = isReset ? "Full reset" : "Logged out"
    }
}
