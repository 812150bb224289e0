import Foundation
import HTTPTypes
import Hummingbird
import LFS
import LFSCache
import LFSSettings

/// The routes that show, change and reset the settings, clear the cache, and remove the journal from this device.
struct SettingsRoutes: Sendable {
    let parts: WebParts

    /// The settings of the appearance, by the fields of the form.
    static let view: [SettingField] = [
        .choice("theme", key: .themeMode), .choice("color", key: .primaryColor),
        .toggle("colorful", key: .colorfulInterface),
        .number("tiles", key: .tilesPerRow, range: Appearance.tiles), .toggle("whole", key: .dynamicLayout),
        .choice("grouping", key: .groupPicturesBy), .toggle("badges", key: .storageIndicator),
        .toggle("preview", key: .loadPreview),
        .toggle("original", key: .loadOriginal),
    ]

    /// The settings of the caches and of the clean-up.
    static let space: [SettingField] = [
        .number("thumbnails", key: .thumbnailCacheSize, range: CacheSizes.range),
        .number("images", key: .imageCacheSize, range: CacheSizes.range),
        .number("covers", key: .albumThumbnailCacheSize, range: CacheSizes.range),
        .toggle("favorites", key: .cleanupKeepsFavorites), .mediaTypes("types", key: .cleanupContentTypes),
        .number("days", key: .cleanupDays, range: CleanupRules.days),
    ]

    func add(to router: Router<JournalContext>) {
        router.get("/settings", use: show)
        router.form("/settings", of: parts, use: save)
        router.form("/settings/reset", of: parts, use: reset)
        router.post("/settings/cache/clear", use: clear)
        router.post("/settings/remove", use: remove)
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        var backup: BackupView?
        if let own = parts.backup { backup = try await BackupView(own, settings: parts.settings, times: parts.times) }
        let snapshot = try await parts.settings.snapshot()
        let space = SpaceView(snapshot, usage: await parts.cache?.usage())
        let account = AccountView(
            snapshot, lost: try await parts.lfs.filesLostByReset(), canRemove: parts.options.removal != nil)
        let content = SettingsView(
            try await parts.appearance(), space: space, account: account, backup: backup,
            hasPassword: parts.password != nil)
        return try await parts.page("settings", title: "Settings", at: "/settings", context: context, content: content)
    }

    @Sendable func save(_ form: Form, context: JournalContext) async throws -> String {
        let changes = try SettingField.changes(form, of: Self.view + Self.space)
        try await parts.settings.write { batch in
            for change in changes { try change(batch) }
        }
        return "/settings"
    }

    @Sendable func reset(_ form: Form, context: JournalContext) async throws -> String {
        try await parts.settings.write { batch in
            for field in Self.view + Self.space { try field.reset(batch) }
            try batch.remove(.cleanupAlbums)
        }
        return "/settings"
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
