import Foundation
import Hummingbird
import Mustache

/// The templates of the pages, which are part of the program.
struct Templates: Sendable {
    private let library: MustacheLibrary

    /// - Throws: The error of a template that cannot be parsed, which a test would detect.
    init() throws {
        MustacheContentTypes.register(SafeHTML(), named: SafeHTML.name)
        var library = MustacheLibrary()
        for (name, bytes) in Self.sources {
            let text = "{{% CONTENT_TYPE:\(SafeHTML.name)}}" + String(decoding: bytes, as: UTF8.self)
            try library.register(text, named: name)
        }
        self.library = library
    }

    private static let sources: [String: [UInt8]] = [
        "album": PackageResources.album_mustache, "error": PackageResources.error_mustache,
        "how": PackageResources.how_mustache, "inspector": PackageResources.inspector_mustache,
        "layout": PackageResources.layout_mustache, "rows": PackageResources.rows_mustache,
        "badge": PackageResources.badge_mustache, "field": PackageResources.field_mustache,
        "lines": PackageResources.lines_mustache,
        "login": PackageResources.login_mustache,
        "picture": PackageResources.picture_mustache, "pictures": PackageResources.pictures_mustache,
        "record": PackageResources.record_mustache, "removed": PackageResources.removed_mustache,
        "row": PackageResources.row_mustache,
        "settings": PackageResources.settings_mustache, "storage": PackageResources.storage_mustache,
        "eviction": PackageResources.eviction_mustache,
        "tile": PackageResources.tile_mustache, "tiles": PackageResources.tiles_mustache,
        "timeline": PackageResources.timeline_mustache, "trash": PackageResources.trash_mustache,
        "today": PackageResources.today_mustache,
        "verification": PackageResources.verification_mustache, "view": PackageResources.view_mustache,
        "welcome": PackageResources.welcome_mustache,
    ]

    func render(_ page: Page, status: HTTPResponse.Status = .ok) -> Response {
        let text = library.render(page, withTemplate: page.template) ?? ""
        return Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
