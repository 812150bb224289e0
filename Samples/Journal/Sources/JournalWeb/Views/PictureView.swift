import Foundation
import JournalStorage
import LFS

/// A picture as a tile or a line, with the badge that tells where it is.
struct PictureView: Sendable {
    let name: String
    let path: String
    let thumbnail: String
    let fileID: String
    let size: String
    let caption: String
    let badge: Badge

    init(_ name: String, of record: TimeRecord, _ image: StoredImage, day: String) {
        let number = (record.images.firstIndex(of: name) ?? 0) + 1
        self.init(image, name, at: "\(record.path)/images/\(name)", caption: "Picture \(number) of \(day)")
    }

    init(asset image: StoredImage) {
        let name = image.file.name ?? "\(image.file.id)"
        self.init(image, name, at: "/files/\(image.file.id)", caption: "Picture \(name)")
    }

    private init(_ image: StoredImage, _ name: String, at path: String, caption: String) {
        (self.name, self.path, self.caption) = (name, path, caption)
        badge = Badge(image.file, image.upload)
        // Another address until the bytes are there, for browsers keep what an address has had.
        thumbnail = "/files/\(image.file.id)/thumbnail" + (badge.state == "elsewhere" ? "?elsewhere" : "")
        fileID = "\(image.file.id)"
        size = Words.bytes(image.file.byteCount)
    }
}

/// Where the bytes of a file are, in one word and, if it takes one, a sentence.
struct Badge: Sendable {
    /// What the style sheet knows it by.
    let state: String
    let text: String
    /// Why it is not on the storage yet.
    let reason: String
    let canRetry: Bool
    let canCancel: Bool

    /// - Parameter whyAll: why no file is uploaded now; nil when some are.
    init(_ file: FileData, _ upload: Upload?, whyAll: String? = nil) {
        switch upload?.state {
        case .queued:
            (state, text) = ("waiting", "waiting")
            reason = whyAll ?? upload?.reason ?? "It waits for its turn."
        case .failed:
            (state, text) = ("failed", "failed")
            reason = upload?.reason ?? "Nobody knows why."
        case .cancelled:
            (state, text) = ("cancelled", "cancelled")
            reason = upload?.reason ?? "Somebody has cancelled it."
        case nil:
            (state, text) = file.status == .remote ? ("remote", "remote") : ("elsewhere", "elsewhere")
            reason = file.status == .remote ? "" : "The device that made it has not uploaded it yet."
        }
        canRetry = upload?.state == .failed || upload?.state == .cancelled
        canCancel = upload?.state == .queued
    }
}

/// Numbers as people read them.
enum Words {
    static func bytes(_ count: Int64) -> String {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        for (unit, shift) in units where count >= 1 << shift {
            let tenths = count / (1 << (shift - 4)) * 10 / 16
            return "\(tenths / 10).\(tenths % 10) \(unit)"
        }
        return "\(count) bytes"
    }

    static func duration(_ seconds: TimeInterval) -> String {
        // No year is as long as what a damaged clock could make of it.
        let minutes = Int(min(max(seconds, 0), 1e12)) / 60
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }

    static func count(_ number: Int, _ one: String, _ more: String) -> String {
        "\(number) \(number == 1 ? one : more)"
    }
}
