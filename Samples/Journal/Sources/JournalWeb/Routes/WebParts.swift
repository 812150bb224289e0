import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import JournalStorage
import LFS
import LFSCache
import LFSSettings
import Logging

/// The parts that all routes share.
struct WebParts: Sendable {
    let journal: DatabaseStorageService
    let settings: StorageRouter
    let options: WebOptions
    let templates: Templates
    let sessions: Sessions
    let password: Password?
    let feed: LiveFeed
    let counter: StoreCounter
    /// The comparisons of a demonstration. Nil without switches for faults.
    let rounds: RoundCheck?
    /// The events of the library since the start.
    let history: FileHistory
    /// The synchronization. Nil if the journal is only on this device.
    let sync: DeviceSync?
    /// The backup of folders. Nil if the operator of the server permits no folders.
    let backup: FolderBackup?
    /// The limit on concurrent uploads of pictures, so that pages need not wait for a hundred pictures that were
    /// dropped together.
    let turns = KeyedMutex(4)
    /// The cache of the thumbnails. Nil for none.
    let cache: MediaCache?
    /// The thumbnails. Nil without the tool or the cache. Pages then show the original pictures.
    let thumbnails: Thumbnails?

    var lfs: LFSManager { journal.lfs }
    var times: LocalTime { LocalTime(options.timeZone) }

    /// Returns whether the user of a browser may see the journal.
    func isOpen(to cookies: [String]) -> Bool {
        password == nil || sessions.session(cookies: cookies)?.isLoggedIn == true
    }

    // MARK: Replies

    func page(
        _ template: String, title: String, at path: String, context: JournalContext, isLive: Bool = true,
        status: HTTPResponse.Status = .ok, content: any Sendable
    ) async throws -> Response {
        let isIn = context.session.isLoggedIn
        // The reason contains names of folders and servers.
        let outage = isIn ? try await lfs.outage().map { "The storage is unavailable: \($0.reason)" } : nil
        let page = Page(
            classes: try await appearance().classes, template: template, title: title,
            token: sessions.token(of: context.session), version: context.version,
            links: Page.all.map { Page.Link(path: $0.path, name: $0.name, isCurrent: $0.path == path) },
            outage: outage ?? "", sync: isIn ? sync.map { SyncView.trouble($0.state.value) } ?? "" : "", isLive: isLive,
            isIn: isIn, hasPassword: password != nil && isIn, content: content)
        return templates.render(page, status: status)
    }

    /// Returns the present appearance of pages.
    func appearance() async throws -> Appearance { Appearance(try await settings.snapshot()) }

    func form(_ request: Request, context: JournalContext) async throws -> Form {
        var form = try await Form.read(request, context: context, sessions: sessions)
        form.page = page(of: request)
        return form
    }

    /// Redirects to the page that shows the result of a form.
    func redirect(to path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }

    /// Returns the path of the page of this server that has sent a form. Nil without one.
    private func page(of request: Request) -> String? {
        let own = request.origin(isTLS: options.tls != nil)
        guard let referer = request.headers[.referer], referer.utf8.starts(with: (own + "/").utf8) else { return nil }
        let rest = referer.utf8.dropFirst(own.utf8.count)
        let isPlain = rest.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x5c } && !rest.starts(with: "//".utf8)
        return isPlain ? String(Substring(rest)) : nil
    }

    // MARK: Views

    /// Returns records as lines of a list, with their first pictures.
    func views(_ records: [TimeRecord], now: Date = Date()) async throws -> [RecordView] {
        let tags = try await journal.loadTags()
        let images = try await journal.storedImages(of: records, limit: RecordView.maxPictures)
        let badges = try await badges(of: nil)
        return records.map {
            RecordView($0, tags: tags, images: images, badges: badges, pageZone: options.timeZone, now: now)
        }
    }

    /// Returns the maker of the badges of some files.
    ///
    /// - Parameter images: The files whose local copies are looked up. Nil for none, on pages without badges.
    func badges(of images: [StoredImage]?) async throws -> BadgeMaker {
        var copies: Set<FileID>?
        if let images {
            var found: Set<FileID> = []
            for image in images where await hasCopy(image.file.id) { found.insert(image.file.id) }
            copies = found
        }
        return BadgeMaker(
            conditions: try await conditions(), copies: copies, transfers: history.transfers(), now: Date(),
            times: times)
    }

    /// Returns the conditions that apply to all uploads now.
    func conditions() async throws -> QueueConditions {
        let status = try await lfs.status()
        return QueueConditions(outage: status.outage, hold: status.hold, isPaused: lfs.isPaused)
    }

    /// Returns whether a file is on this device. A page is shown even if the file system cannot be read.
    func hasCopy(_ id: FileID) async -> Bool {
        do {
            return try await lfs.hasLocalCopy(of: id)
        } catch {
            options.logger.notice("A local copy cannot be looked up.", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Returns the file of the id in the path, with its upload.
    ///
    /// - Throws: ``WebError/Code/notFound``.
    func image(_ context: JournalContext) async throws -> StoredImage {
        guard let id = FileID(try context.id().text),
            let image = try await journal.database.read({ db in try StoredImage.one(id, db) })
        else { throw WebError.noSuchPage }
        return image
    }

    /// Returns the place of a picture. The name of a row may be any text, so the record is asked for the file.
    func place(of file: FileData) async throws -> PicturePlace {
        guard let name = file.name.flatMap({ ImageName($0) }) else { return PicturePlace(file) }
        do {
            let record = try await journal.loadRecord(name.recordID)
            let images = try await journal.storedImages(of: [record])
            return PicturePlace(file, in: record, images: images) ?? PicturePlace(file)
        } catch FileStorageError.fileNotFound {
            return PicturePlace(file)
        }
    }

    /// Returns the tags of a form. The new tag that the form names is created.
    ///
    /// - Throws: ``WebError/Code/badRequest`` for its name.
    func tagBoxes(_ form: Form) async throws -> TagBoxes {
        let tags = try await journal.loadTags()
        var boxes = TagBoxes(form, listed: Set(tags.map(\.id)))
        let name = form["newTag"].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !name.isEmpty else { return boxes }
        guard name.count <= 100 else { throw WebError(.badRequest, message: "A tag can have at most 100 characters.") }
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

extension Router<JournalContext> {
    /// Adds a form. Its reply redirects to the path that a closure returns.
    func form(
        _ path: RouterPath, of parts: WebParts,
        use handle: @escaping @Sendable (Form, JournalContext) async throws -> String
    ) {
        post(path) { request, context in
            let form = try await parts.form(request, context: context)
            return parts.redirect(to: try await handle(form, context))
        }
    }
}
