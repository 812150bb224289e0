import Foundation
import HTTPTypes
import Hummingbird
import LFS
import LFSCache
import LFSSettings

/// The routes that show, change and reset the settings, clear the cache, and remove the journal from this device.
struct SettingsRoutes: Sendable {
    let parts: WebParts

    private static let fields = SettingField.appearance + SettingField.caches + SettingField.cleanup

    func add(to router: Router<JournalContext>) {
        router.get("/settings", use: show)
        router.form("/settings", of: parts) { form, _ in
            try await SettingField.save(form, of: Self.fields, in: parts.settings)
            return "/settings"
        }
        router.form("/settings/reset", of: parts) { _, _ in
            try await parts.settings.write { batch in
                for field in Self.fields { try field.reset(batch) }
                try batch.remove(.cleanupAlbums)
            }
            return "/settings"
        }
        router.post("/settings/cache/clear", use: clear)
        router.post("/settings/remove", use: remove)
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let snapshot = try await parts.settings.snapshot()
        let backup = try parts.backup.map { try BackupView($0, snapshot: snapshot, times: parts.times) }
        let account = AccountView(
            snapshot, lost: try await parts.lfs.filesLostByReset(), canRemove: parts.options.removal != nil)
        let content = SettingsView(
            snapshot, usage: await parts.cache?.usage(), account: account, backup: backup,
            hasPassword: parts.password != nil)
        return try await parts.page("settings", title: "Settings", at: "/settings", context: context, content: content)
    }

    @Sendable func clear(_ request: Request, context: JournalContext) async throws -> Response {
        try await parts.form(request, context: context).requireSure()
        try await parts.cache?.removeAll()
        parts.thumbnails?.forgetFailures()
        var response = parts.redirect(to: "/settings")
        // The browser has pictures of the cache too.
        response.headers[.clearSiteData] = "\"cache\""
        return response
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
