import Foundation
import Hummingbird
import JournalStorage
import LFS

/// The routes that start, stop, change and delete records.
struct RecordRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.form("/records", of: parts, use: start)
        router.get("/records/:id", use: show)
        router.form("/records/:id", of: parts, use: change)
        router.form("/records/:id/stop", of: parts) { form, context in
            let now = Date()
            try await parts.journal.updateRecord(context.id()) { record in
                // Another window may have stopped it first, and a clock may have been set back.
                if record.isRunning { record.end = max(now, record.start) }
            }
            return form.page ?? "/"
        }
        router.form("/records/:id/delete", of: parts) { form, context in
            try form.requireSure()
            try await parts.journal.deleteRecord(parts.journal.loadRecord(context.id()))
            return "/timeline"
        }
    }

    @Sendable func start(_ form: Form, context: JournalContext) async throws -> String {
        let now = Date()
        // Pictures that are dropped on a page without a record get one that has already ended.
        let isEnded = form["ended"] == "yes"
        let record = TimeRecord(
            start: now, end: isEnded ? now : nil, timeZone: parts.options.timeZone, comment: form["comment"],
            tags: try await parts.tagBoxes(form).chosen(of: []))
        try await parts.journal.saveRecord(record)
        if isEnded { return record.path }
        return "/"
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let record = try await parts.journal.loadRecord(context.id())
        let images = try await parts.journal.storedImages(of: [record])
        let tags = try await parts.journal.loadTags()
        let limit = parts.options.maxPictureByteCount
        let view = RecordView(
            record, tags: tags, images: images, badges: try await parts.badges(of: Array(images.values)),
            pageZone: parts.options.timeZone, now: Date())
        let deleted = try await deletedFile(request, of: record)
        let content = RecordPageView(
            deleted: deleted.map { "\($0)" },
            record: view, tags: tags.map { TagView($0, isChosen: record.tags.contains($0.id)) },
            maxSize: Words.bytes(limit), maxByteCount: limit, commentMark: FormBase.mark(record.comment))
        let day = LocalTime(record.zone).day(record.start)
        return try await parts.page("record", title: "Record of \(day)", at: "", context: context, content: content)
    }

    /// Returns the picture that the query names if it can be restored to the record.
    private func deletedFile(_ request: Request, of record: TimeRecord) async throws -> FileID? {
        guard let file = FileID(request.fields["deleted"]) else { return nil }
        let deleted = try await parts.journal.loadDeletedImages(limit: TrashRoutes.maxPictures)
        return deleted.contains { $0.image.file.id == file && $0.recordID == record.id } ? file : nil
    }

    @Sendable func change(_ form: Form, context: JournalContext) async throws -> String {
        let base = FormBase(form)
        let tags = try await parts.tagBoxes(form)
        let record = try await parts.journal.updateRecord(context.id()) { record in
            let times = LocalTime(record.zone)
            if form.has("comment"), base.hasChangedText("comment") { record.comment = form["comment"] }
            if base.hasChangedTime("start", times: times) {
                record.start = try Self.changed(record.start, text: form["start"], times: times) ?? record.start
            }
            if base.hasChangedTime("end", times: times) {
                record.end = try Self.changed(record.end, text: form["end"], times: times)
            }
            record.tags = tags.chosen(of: record.tags)
        }
        return record.path
    }

    /// Returns the stored time if the field was not changed, since the page shows it with less precision.
    private static func changed(_ date: Date?, text: String, times: LocalTime) throws(WebError) -> Date? {
        if text.isEmpty { return nil }
        guard let changed = times.date(text) else {
            throw WebError(.badRequest, message: "'\(text.prefix(40))' is not a time. Write it as 2026-03-29T01:30:00.")
        }
        if let date, changed == times.date(times.text(date)) { return date }
        return changed
    }
}
