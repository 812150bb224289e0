import Foundation
import LFS

/// One line of `--json`. Fields may be added; readers ignore those they do not know.
struct JSONEvent: Encodable {
    var event: String
    var id: FileID?
    var path: String?
    var files: Int?
    var bytes: Int64?
    var totalBytes: Int64?
    var url: String?
    var reason: String?
    var code: String?
    /// Seconds until the next try.
    var nextAttempt: Double?
    /// Old versions that go with it.
    var versions: Int?
    /// Whether it is an old version itself.
    var isVersion: Bool?

    init(_ event: String) { self.event = event }

    enum CodingKeys: String, CodingKey {
        case event, id, path, files, bytes, totalBytes, url, reason, code, nextAttempt, versions, isVersion
    }
}

/// The last line of `--json`.
struct JSONSummary: Encodable {
    var event = "summary"
    var attached: Int
    /// Those of the attached ones whose content another file had.
    var shared: Int
    var restored: Int
    var uploaded: Int
    var failed: Int
    /// Those that were passed over for any reason, unchanged ones among them.
    var skipped: Int
    /// Those of the skipped ones that could not be read, for which the command ends with status 3.
    var unreadable: Int
    var unchanged: Int
    /// Those of the unchanged ones whose time or permissions were recorded anew.
    var touched: Int
    /// Folders and links that were recorded or made, and those that are recorded and gone.
    var folders: Int
    var links: Int
    var gone: Int
    /// Folders and links that were recorded, and are no more.
    var forgotten: Int
    var pulled: Int
    var removed: Int
    /// Deletions that waited before, and are carried out.
    var deletions: Int
    /// Originals that are on the storage now, and not here any more.
    var moved: Int
    /// Old versions that went, and the bytes of the files that went with them.
    var versions: Int
    var versionBytes: Int64
    var bytes: Int64
    var seconds: Double
}

/// The last line of `--json` with `--dry-run`.
struct JSONPreview: Encodable {
    var event = "summary"
    /// Those that would be attached or removed.
    var files: Int
    var bytes: Int64?
    /// Old versions that would be removed.
    var versions: Int
    /// Folders and links that would be forgotten.
    var forgotten: Int?
    var failed: Int
}

extension Encodable {
    /// The value as one line of JSON.
    func jsonLine() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Printable.json(String(decoding: try encoder.encode(self), as: UTF8.self))
    }
}
