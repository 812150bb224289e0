import Foundation
import LFS

/// A line of `--json`. Fields may be added. Readers must ignore unknown fields.
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
    /// Seconds until the next attempt.
    var nextAttempt: Double?
    /// The number of old versions that are removed with it.
    var versions: Int?
    /// True if it is itself an old version.
    var isVersion: Bool?

    init(_ event: String) { self.event = event }

    enum CodingKeys: String, CodingKey {
        case event, id, path, files, bytes, totalBytes, url, reason, code, nextAttempt, versions, isVersion
    }
}

/// The last line of `--json`. It has the fields of the run's purpose, and others that are not zero.
struct JSONSummary: Encodable {
    var event = "summary"
    var attached: Int?
    /// The attached files with the same content as another file.
    var shared: Int?
    var restored: Int?
    var uploaded: Int?
    var failed: Int
    /// The files that were skipped for any reason, including unchanged ones.
    var skipped: Int?
    /// The skipped files that could not be read. They lead to exit status 3.
    var unreadable: Int?
    var unchanged: Int?
    /// The unchanged files with updated time or permissions.
    var touched: Int?
    /// The folders and links that were recorded or created, and those that are recorded but missing.
    var folders: Int?
    var links: Int?
    var gone: Int?
    /// The folders and links whose records were removed.
    var forgotten: Int?
    var pulled: Int?
    var removed: Int?
    /// The deletions that were pending before the run and are carried out.
    var deletions: Int?
    /// The originals that were removed because they are on the storage.
    var moved: Int?
    /// The old versions that were removed, and the bytes of their files.
    var versions: Int?
    var versionBytes: Int64?
    var bytes: Int64
    var seconds: Double

    init(_ tally: Tally, about purpose: Purpose, seconds: Double) {
        func value<Number: BinaryInteger>(_ number: Number, in purposes: Purpose...) -> Number? {
            purposes.contains(purpose) || number != 0 ? number : nil
        }
        attached = value(tally.attached, in: .uploading)
        shared = value(tally.shared, in: .uploading)
        restored = value(tally.restored, in: .uploading)
        uploaded = value(tally.uploaded, in: .uploading)
        failed = tally.failed
        skipped = value(tally.skipped, in: .uploading, .pulling)
        unreadable = value(tally.unreadable, in: .uploading)
        unchanged = value(tally.unchanged, in: .uploading, .pulling)
        touched = value(tally.touched, in: .uploading)
        folders = value(tally.folders, in: .uploading, .pulling)
        links = value(tally.links, in: .uploading, .pulling)
        gone = value(tally.gone, in: .uploading)
        forgotten = value(tally.forgotten, in: .removing)
        pulled = value(tally.pulled, in: .pulling)
        removed = value(tally.removed, in: .removing)
        deletions = value(tally.deletions, in: .uploading, .removing)
        moved = value(tally.moved, in: .uploading)
        versions = value(tally.versions, in: .uploading, .removing)
        versionBytes = value(tally.versionBytes, in: .uploading, .removing)
        bytes = tally.bytes
        self.seconds = (seconds * 1_000).rounded() / 1_000
    }
}

/// The last line of `--json` with `--dry-run`.
struct JSONPreview: Encodable {
    var event = "summary"
    /// The files that would be attached or removed.
    var files: Int
    var bytes: Int64?
    /// The old versions that would be removed.
    var versions: Int
    /// The folders and links whose records would be removed.
    var forgotten: Int?
    var failed: Int
}

/// A line of `--json`: an object with the version of its form, and with an event if the object has none.
private struct JSONLine<Value: Encodable>: Encodable {
    enum CodingKeys: CodingKey { case event, schema }

    /// The version of the form of all lines. A change to the meaning of a field increases it.
    static var schema: Int { 1 }

    let value: Value
    let event: String?

    func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schema, forKey: .schema)
        try container.encodeIfPresent(event, forKey: .event)
    }
}

extension Encodable {
    /// The value as one line of JSON.
    ///
    /// - Parameter event: the name of the event, for a value that does not encode one.
    func jsonLine(event: String? = nil) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = JSONLine(value: self, event: event)
        return Printable.json(String(decoding: try encoder.encode(line), as: UTF8.self))
    }
}
