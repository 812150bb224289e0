import Foundation
import JournalStorage
import LFS

/// A file that is not on the storage, with the reason.
struct WaitingView: Sendable {
    let fileID: String
    let name: String
    /// The name, for the label of the badge.
    let caption: String
    let record: String?
    let size: String
    let tries: String
    let badge: Badge

    init(_ image: StoredImage, badges: BadgeMaker) {
        let name = image.file.name.flatMap { ImageName($0) }
        fileID = "\(image.file.id)"
        self.name = image.file.name ?? "Picture without a name"
        caption = self.name
        record = name.map { TimeRecord.path(of: $0.recordID) }
        size = Words.bytes(image.file.byteCount)
        tries = Words.count(image.upload?.attempts ?? 0, one: "attempt", more: "attempts")
        badge = badges.badge(image)
    }
}

struct StorageView: Sendable {
    let kind: String
    let status: LFSStatus
    let pending: String
    let here: String
    let waiting: [WaitingView]
    let hasMore: Bool
    let isPaused: Bool
    let thumbnails: String
    let chart: ChartView
    /// The synchronization. Nil if the journal is only on this device.
    let devices: SyncView?
}

/// The uploads of the last hour as bars, and the files that waited in each minute as a line, in units of the drawing.
struct ChartView: Sendable {
    struct Bar: Sendable {
        let x: Int
        let y: Int
        let height: Int
    }

    let bars: [Bar]
    let line: String
    let summary: String

    static let height = 100

    init(_ minutes: [UploadActivity.Minute]) {
        let mostUploaded = max(1, minutes.map(\.uploaded).max() ?? 0)
        let mostWaiting = max(1, minutes.map(\.waiting).max() ?? 0)
        bars = minutes.enumerated().filter { $1.uploaded > 0 }.map { index, minute in
            let height = max(1, minute.uploaded * Self.height / mostUploaded)
            return Bar(x: index * 10 + 1, y: Self.height - height, height: height)
        }
        line = minutes.enumerated().map { index, minute in
            "\(index * 10 + 5),\(Self.height - minute.waiting * Self.height / mostWaiting)"
        }.joined(separator: " ")
        let uploaded = minutes.map(\.uploaded).reduce(0, +)
        let most = minutes.map(\.waiting).max() ?? 0
        summary =
            "\(Words.count(uploaded, one: "file was", more: "files were")) uploaded in the last hour. "
            + "At most \(most) waited in the same minute."
    }
}

struct EvictionView: Sendable {
    struct Stay: Sendable {
        let reason: String
        let files: String
        let size: String
    }

    let isPreview: Bool
    let keep: Int64
    let files: String
    let size: String
    let stays: [Stay]
    let shortfall: String?

    init(_ report: EvictionReport, keep: Int64, isPreview: Bool) {
        self.isPreview = isPreview
        self.keep = keep
        files = Words.count(report.evicted.files, one: "picture", more: "pictures")
        size = Words.bytes(report.evicted.byteCount)
        stays = StayReason.allCases.compactMap { reason in
            report.stays[reason].map {
                Stay(
                    reason: Self.sentences[reason] ?? "\(reason)",
                    files: Words.count($0.files, one: "picture", more: "pictures"),
                    size: Words.bytes($0.byteCount))
            }
        }
        shortfall = report.shortfall > 0 ? Words.bytes(report.shortfall) : nil
    }

    private static let sentences: [StayReason: String] = [
        .notUploaded: "not on the storage yet", .orphaned: "without a record", .pinned: "pinned",
        .named: "favourites, or in an album that stays", .contentType: "of a type that stays",
        .recentlyUsed: "used recently",
        .unproven: "not confirmed by the storage", .inUse: "being read now", .fits: "within the limit",
    ]
}

struct VerificationView: Sendable {
    struct Finding: Sendable {
        let kind: String
        let message: String
        let outcome: String

        init(_ finding: VerifyFinding) {
            kind = "\(finding.kind)"
            message = finding.message
            outcome =
                switch finding.outcome {
                case .found: finding.repair == nil ? "found" : "found, can be repaired"
                case .repaired: "repaired"
                case .underWay: "being repaired in the background"
                case .noted: "lost, and recorded as lost"
                case .failed(let reason): "not repaired: \(reason)"
                }
        }
    }

    let isClean: Bool
    let repairs: Bool
    let looked: String
    let findings: [Finding]
    let left: Int
    let hasMore: Bool
    let damaged: [DamagedRecord]
}
