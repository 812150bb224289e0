import Foundation
import Hummingbird
import LFS
import LFSCache
import LFSSettings

/// The routes that show, change and reset the view settings.
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
}
