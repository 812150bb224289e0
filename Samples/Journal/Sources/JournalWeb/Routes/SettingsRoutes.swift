import Foundation
import Hummingbird
import LFSSettings

/// What whoever looks at the journal chooses: shown, changed, and put back.
struct SettingsRoutes: Sendable {
    let parts: WebParts

    /// The settings of how pages look, by the fields of the form.
    static let view: [SettingField] = [
        .choice("theme", .themeMode), .choice("color", .primaryColor), .toggle("colorful", .colorfulInterface),
        .number("tiles", .tilesPerRow, Appearance.tiles), .toggle("whole", .dynamicLayout),
        .choice("grouping", .groupPicturesBy), .toggle("badges", .storageIndicator), .toggle("preview", .loadPreview),
        .toggle("original", .loadOriginal),
    ]

    func add(to router: Router<JournalContext>) {
        router.get("/settings", use: show)
        router.post("/settings", use: save)
        router.post("/settings/reset", use: reset)
    }

    @Sendable func show(_ request: Request, _ context: JournalContext) async throws -> Response {
        var backup: BackupView?
        if let own = parts.backup { backup = try await BackupView(own, parts.settings, parts.times) }
        let content = SettingsView(try await parts.appearance(), backup: backup, hasPassword: parts.password != nil)
        return try await parts.page("settings", "Settings", at: "/settings", context, content)
    }

    @Sendable func save(_ request: Request, _ context: JournalContext) async throws -> Response {
        let changes = try SettingField.changes(try await parts.form(request, context), of: Self.view)
        try await parts.settings.write { batch in
            for change in changes { try change(batch) }
        }
        return parts.redirect(to: "/settings")
    }

    @Sendable func reset(_ request: Request, _ context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context)
        try await parts.settings.write { batch in
            for field in Self.view { try field.reset(batch) }
        }
        return parts.redirect(to: "/settings")
    }
}
