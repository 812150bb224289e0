import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS
import LFSSync
import Synchronization

/// The routes that show where pictures are stored, and that retry, cancel, pause, free space and verify.
struct StorageRoutes: Sendable {
    let parts: WebParts

    /// The maximum number of lines of the queue, and of findings, on a page.
    static let maxLines = 200

    func add(to router: Router<JournalContext>) {
        router.get("/storage", use: show)
        router.form("/storage/retry", of: parts, use: retry)
        router.form("/storage/cancel", of: parts) { form, _ in
            try await parts.lfs.cancel(form.file())
            return "/storage"
        }
        router.form("/storage/pause", of: parts) { _, _ in
            parts.lfs.pause()
            return "/storage"
        }
        router.form("/storage/resume", of: parts) { _, _ in
            parts.lfs.resume()
            return "/storage"
        }
        router.get("/storage/free", use: previewEviction)
        router.post("/storage/free", use: evict)
        router.post("/storage/verify", use: verify)
    }

    private func devices() async throws -> SyncView? {
        guard let sync = parts.sync else { return nil }
        let (report, problems) = try await parts.journal.database.read { db in
            (try SyncReport.fetch(db) ?? SyncReport(), try SyncProblem.fetch(db))
        }
        return SyncView(sync, report: report, problems: problems, times: parts.times)
    }

    @Sendable func show(_ request: Request, context: JournalContext) async throws -> Response {
        let status = try await parts.lfs.status()
        let waiting = try await parts.journal.database.read { db in
            try FileData.including(required: FileData.upload).order(FileData.Columns.id).limit(Self.maxLines + 1)
                .asRequest(of: StoredImage.self).fetchAll(db)
        }
        let here = try await parts.counter.counts().copies
        let badges = try await parts.badges(of: Array(waiting.prefix(Self.maxLines)))
        let content = StorageView(
            kind: parts.options.storageName, status: status, pending: Words.bytes(status.pendingBytes),
            here: "\(here.files), \(Words.bytes(here.byteCount))",
            waiting: waiting.prefix(Self.maxLines).map { WaitingView($0, badges: badges) },
            hasMore: waiting.count > Self.maxLines, isPaused: parts.lfs.isPaused,
            thumbnails: parts.thumbnails == nil ? Self.noThumbnails : Self.withThumbnails,
            chart: ChartView(try await minutes()), devices: try await devices())
        return try await parts.page("storage", title: "Storage", at: "/storage", context: context, content: content)
    }

    private func minutes() async throws -> [UploadActivity.Minute] {
        try await parts.journal.database.read { db in try UploadActivity(until: Date(), db).minutes }
    }

    private static let withThumbnails = "libvips makes the thumbnails in separate processes."
    private static let noThumbnails = """
        Pages show the original pictures because vipsthumbnail is missing. Install libvips-tools and \
        restart the journal.
        """

    // MARK: The queue

    @Sendable func retry(_ form: Form, context: JournalContext) async throws -> String {
        if form.has("file") {
            try await parts.lfs.retry([form.file()])
        } else {
            try await parts.lfs.retry()
            try await parts.lfs.retryDeletions()
        }
        // Try a storage again immediately after an outage.
        if !parts.lfs.isPaused { parts.lfs.resume() }
        return "/storage"
    }

    // MARK: Space

    @Sendable func previewEviction(_ request: Request, context: JournalContext) async throws -> Response {
        let keep = try Self.keep(request.fields)
        let report = try await parts.lfs.previewEviction(try await policy(keep: keep))
        let content = EvictionView(report, keep: keep, isPreview: true)
        return try await parts.page(
            "eviction", title: "Free space", at: "/storage", context: context, isLive: false, content: content)
    }

    @Sendable func evict(_ request: Request, context: JournalContext) async throws -> Response {
        let keep = try Self.keep(try await parts.form(request, context: context))
        let report = try await parts.lfs.evict(try await policy(keep: keep)) { [history = parts.history] in
            history.addFreed($0.id, byteCount: $0.byteCount)
        }
        let content = EvictionView(report, keep: keep, isPreview: false)
        return try await parts.page(
            "eviction", title: "Free space", at: "/storage", context: context, isLive: false, content: content)
    }

    /// - Parameter keep: The maximum size of the local copies in MiB.
    private func policy(keep: Int64) async throws -> EvictionPolicy {
        try await CleanupRules.policy(parts.settings, maxByteCount: keep << 20)
    }

    private static func keep(_ form: Form) throws(WebError) -> Int64 {
        guard let keep = Int64(form["keep"]), (0...1_000_000).contains(keep) else {
            throw WebError(.badRequest, message: "Write a number of MiB from 0 to 1000000.")
        }
        return keep
    }

    // MARK: Verifying

    @Sendable func verify(_ request: Request, context: JournalContext) async throws -> Response {
        let form = try await parts.form(request, context: context)
        var options = VerifyOptions()
        options.repairs = form["repair"] == "yes"
        options.checksContent = form["content"] == "yes"
        options.readsRemote = form["objects"] == "yes"
        let findings = FindingList()
        let report = try await parts.lfs.verify(options) { finding in findings.add(finding) }
        let damaged = try await parts.journal.damagedRecords()
        let content = VerificationView(
            isClean: report.isClean && damaged.isEmpty, repairs: options.repairs,
            looked:
                "\(report.files) files, \(report.localFiles) local copies and \(report.objects) objects were compared.",
            findings: findings.all, left: report.left + damaged.count,
            hasMore: report.findings.values.reduce(0, +) > findings.all.count,
            damaged: Array(damaged.prefix(Self.maxLines)))
        return try await parts.page(
            "verification", title: "Verification", at: "/storage", context: context, isLive: false, content: content)
    }
}

/// The first findings of a verification.
private final class FindingList: Sendable {
    private let findings = Mutex<[VerificationView.Finding]>([])

    var all: [VerificationView.Finding] { findings.withLock { $0 } }

    func add(_ finding: VerifyFinding) {
        findings.withLock { if $0.count < StorageRoutes.maxLines { $0.append(.init(finding)) } }
    }
}
