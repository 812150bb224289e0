import Foundation
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS
import LFSSettings

/// What the routes share.
struct WebParts: Sendable {
    let journal: DatabaseStorageService
    let settings: StorageRouter
    let options: WebOptions
    let templates: Templates
    let sessions: Sessions
    let password: Password?
    let feed: LiveFeed
    let activity: UploadActivity
    /// nil where the journal is on this device alone.
    let sync: DeviceSync?
    /// nil where whoever runs the server allows no folder.
    let backup: FolderBackup?
    /// Pictures that are taken in at once: pages are not to wait for a hundred that were dropped together.
    let turns = Turns(4)
    /// nil where there is no tool or no cache for them: pictures are then shown as they are.
    let thumbnails: Thumbnails?

    var lfs: LFSManager { journal.lfs }
    var times: LocalTime { LocalTime(options.timeZone) }

    // MARK: Replies

    func page(
        _ template: String, _ title: String, at path: String, _ context: JournalContext, isLive: Bool = true,
        status: HTTPResponse.Status = .ok, _ content: any Sendable
    ) async throws -> Response {
        let isIn = context.session.isLoggedIn
        // The reason names folders and servers.
        let outage = isIn ? try await lfs.outage().map { "The storage is of no use now: \($0.reason)" } : nil
        let page = Page(
            classes: try await appearance().classes, template: template, title: title,
            token: sessions.token(of: context.session),
            links: Page.all.map { Page.Link(path: $0.path, name: $0.name, isCurrent: $0.path == path) },
            outage: outage ?? "", sync: isIn ? sync.map { SyncView.trouble($0.state) } ?? "" : "", isLive: isLive,
            isIn: isIn, hasPassword: password != nil && isIn, content: content)
        return templates.render(page, status: status)
    }

    /// How pages look now.
    func appearance() async throws -> Appearance { Appearance(try await settings.snapshot()) }

    func form(_ request: Request, _ context: JournalContext) async throws -> Form {
        try await Form.read(request, context, sessions: sessions)
    }

    /// Leads to the page that shows what has come of a form.
    func redirect(to path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }

    /// Leads back to the page of this server that had the form.
    func redirectBack(_ request: Request, or path: String) -> Response {
        let own = request.origin(isTLS: options.tls != nil)
        guard let referer = request.headers[.referer], referer.hasPrefix(own + "/"),
            referer.utf8.dropFirst(own.utf8.count).allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x5c }),
            !referer.dropFirst(own.count).hasPrefix("//")
        else { return redirect(to: path) }
        return redirect(to: String(referer.dropFirst(own.count)))
    }

    // MARK: Views

    func views(_ records: [TimeRecord], now: Date = Date()) async throws -> [RecordView] {
        let (tags, images) = (try await journal.loadTags(), try await journal.storedImages(of: records))
        return records.map {
            RecordView($0, tags: tags, images: images, pageZone: options.timeZone, now: now)
        }
    }

    /// The boxes of tags that a form has, with the new tag that it names, which is made.
    ///
    /// - Throws: ``WebError/Code/badRequest`` for its name.
    func tagBoxes(_ form: Form) async throws -> TagBoxes {
        let tags = try await journal.loadTags()
        var boxes = TagBoxes(form, listed: Set(tags.map(\.id)))
        let name = form["newTag"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !name.isEmpty else { return boxes }
        guard name.count <= 100 else { throw WebError(.badRequest, "A tag has at most 100 characters.") }
        if let known = tags.first(where: { $0.name == name }) {
            boxes.new = known.id
        } else {
            let tag = Tag(name: name)
            try await journal.addTag(tag)
            boxes.new = tag.id
        }
        return boxes
    }
}
