import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS

/// The routes of the page "How it works", on which files move through the stages of LFS, and of its demonstration:
/// they fill an empty journal, and switch faults of the storage.
struct HowRoutes: Sendable {
    let parts: WebParts

    /// The number of files that the page shows, the newest first.
    static let maxFiles = 24
    /// The largest number of waiting files that are shown with their reasons.
    private static let maxWaiting = 5

    func add(to router: Router<JournalContext>) {
        router.get("/how", use: show)
        router.form("/demo/fill", of: parts) { _, _ in
            guard let fill = parts.options.fillDemo else { throw WebError.noSuchPage }
            guard try await parts.journal.loadRecords(before: nil, limit: 1).isEmpty else {
                throw WebError(
                    .badRequest, message: "This journal already has records. The demo fills only an empty one.")
            }
            try await fill(parts.journal)
            return "/how"
        }
        router.form("/demo/fault", of: parts) { form, _ in
            guard let faults = parts.options.faults else { throw WebError.noSuchPage }
            guard let fault = DemoStorage.Fault(rawValue: form["fault"]) else {
                throw WebError(.badRequest, message: "Choose a fault on the page How it works.")
            }
            let isOn = form["on"] == "yes"
            faults.set(fault, isOn: isOn)
            if !isOn { parts.rounds?.request(after: FlowFault.cause(fault)) }
            return "/how"
        }
        router.form("/demo/kill", of: parts) { _, _ in
            guard let killDemo = parts.options.killDemo else { throw WebError.noSuchPage }
            // The process is killed soon after the reply.
            killDemo()
            return "/how"
        }
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let newest = try await shownFiles()
        let badges = try await parts.badges(of: newest)
        let chosen = request.fields.has("file") ? try request.fields.file() : nil
        let rows = try await parts.journal.database.read { db in try chosen.map { try TableRow.all(of: $0, db) } }
        let files = newest.map { image in
            FlowFile(
                image, badge: badges.badge(image), isChosen: image.file.id == chosen,
                last: parts.history.lines(of: image.file.id).last?.event)
        }
        let stages = FlowStage.all(
            files: files, store: try await parts.counter.counts(), transfers: parts.history.transfers(),
            fetched: parts.history.totals().fetched)
        let restarts = Words.count(parts.options.restarts, one: "time", more: "times")
        let content = HowView(
            stages: stages, lines: parts.history.recent(20), chosen: chosen.map { "\($0)" }, rows: rows ?? [],
            faults: faults(), outageReason: badges.conditions.outage?.reason,
            holdReason: badges.conditions.holdReason,
            waiting: Array(files.filter { $0.stage == .queue }.prefix(Self.maxWaiting)), isEmpty: newest.isEmpty,
            canFill: parts.options.fillDemo != nil, canKill: parts.options.killDemo != nil,
            restarts: parts.options.restarts == 0 ? nil : "The process was killed \(restarts) and started again.",
            round: parts.rounds?.last.value.map(HowView.text))
        return try await parts.page("how", title: "How it works", at: "/how", context: context, content: content)
    }

    /// Returns the files with the latest events, and then the newest files.
    private func shownFiles() async throws -> [StoredImage] {
        var active: [FileID] = []
        for id in parts.history.recent(FileHistory.maxRecent).compactMap(\.file) where !active.contains(id) {
            active.append(id)
        }
        let ids = Array(active.prefix(Self.maxFiles))
        let images = try await parts.journal.database.read { db in
            try StoredImage.some(ids, db) + StoredImage.newest(Self.maxFiles, db)
        }
        let known = Dictionary(images.map { ($0.file.id, $0) }) { first, _ in first }
        let first = ids.compactMap { known[$0] }
        return Array((first + images.filter { !ids.contains($0.file.id) }).prefix(Self.maxFiles))
    }

    private func faults() -> [FlowFault] {
        guard let storage = parts.options.faults else { return [] }
        return DemoStorage.Fault.allCases.map { FlowFault($0, isOn: storage.active.contains($0)) }
    }
}
