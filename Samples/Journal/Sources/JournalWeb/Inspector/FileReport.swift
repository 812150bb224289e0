import Foundation
import JournalStorage
import LFS

/// The knowledge about one file: the content of its page, and the reply in JSON.
struct FileReport: Encodable, Sendable {
    let id: String
    let name: String
    /// The state in one word, and in a few words.
    let state: String
    let text: String
    let reason: String
    let isOnThisDevice: Bool
    let isOnStorage: Bool
    /// The row's status: `local` or `remote`.
    let status: String
    let attempts: Int
    /// The time of the next attempt. Nil if none is due.
    let nextAttempt: String?
    let lastError: String?
    /// The reason why the app holds all uploads. Nil if it does not.
    let hold: String?
    /// The reason why the storage is unavailable. Nil if it is available.
    let outage: String?
    let key: String
    let url: String?
    let proof: String?
    let contentType: String?
    let byteCount: Int64
    let size: String
    let sha256: String
    let createdAt: String
    /// The events since the start, the newest first.
    let timeline: [HistoryLine]
    let rows: [TableRow]
}

/// The page of one file's state.
struct InspectorView: Sendable {
    let report: FileReport
    let badge: Badge
    let path: String
    /// The path of the picture's page.
    let picture: String
    let thumbnail: String
    let facts: [Fact]

    struct Fact: Sendable {
        let name: String
        let value: String
    }

    init(_ report: FileReport, badge: Badge) {
        self.report = report
        self.badge = badge
        path = "/files/\(report.id)/inspect"
        picture = "/files/\(report.id)/view"
        thumbnail = "/files/\(report.id)/thumbnail"
        let proof: String? =
            switch report.proof {
            case "checksum"?: "The storage computed the checksum, and it is equal."
            case "byteCount"?: "The storage reported only the number of bytes."
            default: nil
            }
        let facts: [(String, String?)] = [
            ("Name", report.name), ("Id", report.id),
            ("Bytes on this device", report.isOnThisDevice ? "yes" : "no"),
            ("Bytes on the storage", report.isOnStorage ? "yes" : "no"),
            ("Status of the row", report.status),
            ("Failed attempts", "\(report.attempts)"),
            ("Next attempt", report.nextAttempt ?? "none"),
            ("Last failure", report.lastError),
            ("Uploads are held", report.hold ?? "no"),
            ("Storage is unavailable", report.outage ?? "no"),
            ("Size", "\(report.size) (\(report.byteCount) bytes)"),
            ("Type", report.contentType), ("Made", report.createdAt), ("Confirmation", proof),
            ("SHA-256", report.sha256), ("Object key", report.key),
            ("URL of the object", report.url),
        ]
        self.facts = facts.compactMap { name, value in value.map { Fact(name: name, value: $0) } }
    }
}
