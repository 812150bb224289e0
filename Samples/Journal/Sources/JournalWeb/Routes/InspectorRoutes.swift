import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS

/// The routes of the page that shows one file's state, and of its buttons.
struct InspectorRoutes: Sendable {
    let parts: WebParts

    func add(to router: Router<JournalContext>) {
        router.get("/files/:id/inspect", use: show)
        action("retry", on: router) { image in
            try await parts.lfs.retry([image.file.id])
            note("retried", of: image, sentence: "You asked for another attempt.")
        }
        action("free", on: router) { image in
            try await parts.lfs.evict(image.file.id)
            parts.history.addFreed(image.file.id, byteCount: image.file.byteCount)
        }
        action("fetch", on: router) { image in
            if try await parts.lfs.localURL(of: image.file) == nil {
                throw WebError(.badRequest, message: "The device that made this file has not uploaded it yet.")
            }
        }
        action("verify", on: router) { image in
            note("verified", of: image, sentence: try await localFinding(image))
            for reading in try await parts.lfs.readBack([image.file.id]) {
                note("verified", of: image, sentence: Self.sentence(reading))
            }
        }
    }

    /// Adds a form whose button acts on a file. The reply is the page with the button.
    private func action(
        _ name: String, on router: Router<JournalContext>,
        _ body: @escaping @Sendable (StoredImage) async throws -> Void
    ) {
        router.form("/files/:id/\(name)", of: parts) { form, context in
            let image = try await parts.image(context)
            try await body(image)
            return form.page ?? "/files/\(image.file.id)/inspect"
        }
    }

    /// Shows the page, or replies with the same values in JSON if the request accepts only JSON.
    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let image = try await parts.image(context)
        let badges = try await parts.badges(of: [image])
        let badge = badges.badge(image)
        let rows = try await parts.journal.database.read { db in try TableRow.all(of: image.file.id, db) }
        let (file, conditions, times) = (image.file, badges.conditions, parts.times)
        let report = FileReport(
            id: "\(file.id)", name: file.name ?? "without a name", state: badge.state, text: badge.text,
            reason: badge.reason, isOnThisDevice: badges.copies?.contains(file.id) == true,
            isOnStorage: file.status == .remote, status: file.status.rawValue,
            attempts: image.upload?.attempts ?? 0, nextAttempt: image.upload?.nextAttempt.map(times.text),
            lastError: image.upload?.reason, hold: conditions.holdReason, outage: conditions.outage?.reason,
            key: file.key, url: file.url?.absoluteString, proof: file.proof?.rawValue, contentType: file.contentType,
            byteCount: file.byteCount, size: Words.bytes(file.byteCount), sha256: file.sha256,
            createdAt: times.text(file.createdAt), timeline: parts.history.lines(of: file.id).reversed(), rows: rows)
        let accept = request.headers[.accept] ?? ""
        if accept.contains("application/json"), !accept.contains("text/html") {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encoder.encode(report))))
        }
        return try await parts.page(
            "inspector", title: "File of \(try await parts.place(of: image.file).title)", at: "/pictures",
            context: context,
            content: InspectorView(report, badge: badge))
    }

    private func localFinding(_ image: StoredImage) async throws -> String {
        guard try await parts.lfs.hasLocalCopy(of: image.file.id) else { return "There is no local copy." }
        return try await parts.lfs.repairLocalCopy(of: image.file.id)
            ? "The local copy was damaged. LFS downloaded the correct bytes."
            : "The local copy has the recorded checksum."
    }

    private static func sentence(_ reading: ObjectReading) -> String {
        reading.outcome == .right
            ? "LFS read the object: all \(Words.bytes(reading.byteCount)) have the recorded checksum."
            : "The object is not correct (\(reading.outcome.rawValue)). \(reading.reason ?? "")"
    }

    private func note(_ name: String, of image: StoredImage, sentence: String) {
        parts.history.add(HistoryLine(name, file: image.file.id, at: parts.times.seconds(Date()), text: sentence))
    }
}
