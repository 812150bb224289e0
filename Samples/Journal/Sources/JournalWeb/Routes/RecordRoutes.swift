import Foundation
import Hummingbird
import JournalStorage

/// A record: started, stopped, changed, deleted.
struct RecordRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.post("/records", use: start)
        router.get("/records/:id", use: show)
        router.post("/records/:id", use: change)
        router.post("/records/:id/stop", use: stop)
        router.post("/records/:id/delete", use: delete)
    }

    @Sendable func start(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let record = TimeRecord(
            start: Date(), timeZone: parts.options.timeZone, comment: form["comment"],
            tags: try await parts.tagBoxes(form).chosen(of: []))
        try await parts.journal.saveRecord(record)
        return parts.redirect(to: "/")
    }

    @Sendable func show(_ request: Request, _ context: JournalContext) async throws -> Response {
        let record = try await parts.journal.loadRecord(context.id())
        let images = try await parts.journal.storedImages(of: [record])
        let tags = try await parts.journal.loadTags()
        let limit = parts.options.maxPictureByteCount
        let view = RecordView(record, tags: tags, images: images, pageZone: parts.options.timeZone, now: Date())
        let content = RecordPageView(
            record: view, tags: tags.map { TagView($0, isChosen: record.tags.contains($0.id)) },
            maxSize: Words.bytes(limit), maxByteCount: limit, commentMark: FormBase.mark(record.comment))
        let day = LocalTime(record.zone).day(record.start)
        return try await parts.page("record", "Record of \(day)", at: "", context, content)
    }

    @Sendable func change(_ request: Request, _ context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context)
        let base = FormBase(form)
        let tags = try await parts.tagBoxes(form)
        let record = try await parts.journal.updateRecord(context.id()) { record in
            let times = LocalTime(record.zone)
            if form.has("comment"), base.hasChangedText("comment") { record.comment = form["comment"] }
            if base.hasChangedTime("start", times) {
                record.start = try Self.changed(record.start, form["start"], times) ?? record.start
            }
            if base.hasChangedTime("end", times) { record.end = try Self.changed(record.end, form["end"], times) }
            record.tags = tags.chosen(of: record.tags)
        }
        return parts.redirect(to: record.path)
    }

    @Sendable func stop(_ request: Request, _ context: JournalContext) async throws -> Response {
        _ = try await parts.form(request, context)
        let now = Date()
        try await parts.journal.updateRecord(context.id()) { record in
            // The other window may have been faster, and a clock may have been set back.
            if record.isRunning { record.end = max(now, record.start) }
        }
        return parts.redirectBack(request, or: "/")
    }

    @Sendable func delete(_ request: Request, _ context: JournalContext) async throws -> Response {
        try await parts.form(request, context).requireSure()
        try await parts.journal.deleteRecord(parts.journal.loadRecord(context.id()))
        return parts.redirect(to: "/timeline")
    }

    /// What the page has shown is less precise than what is stored: unless somebody has changed it, that stays.
    private static func changed(_ date: Date?, _ text: String, _ times: LocalTime) throws(WebError) -> Date? {
        if text.isEmpty { return nil }
        guard let changed = times.date(text) else {
            throw WebError(.badRequest, "'\(text.prefix(40))' is no time. Write it as 2026-03-29T01:30:00.")
        }
        if let date, changed == times.date(times.text(date)) { return date }
        return changed
    }
}
