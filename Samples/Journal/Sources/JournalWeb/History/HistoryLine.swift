import Foundation
import LFS

/// An event of a file or of the storage, as pages and the JSON of a file show it.
struct HistoryLine: Encodable, Hashable, Sendable {
    enum CodingKeys: CodingKey { case time, event, text }

    /// The place of a file on the page "How it works".
    enum Stage: String, Hashable, Sendable { case queue, uploading, remote, freed, fetched, removed }

    /// The local time at which it happened.
    let time: String
    /// The file. Nil for an event of the whole storage or of the database.
    let file: FileID?
    /// The name of the library's event, or of what a user did.
    let event: String
    let text: String
    /// The badge that the file has from now on. Nil if the event does not change it.
    private(set) var badge: Badge?
    private(set) var stage: Stage?

    /// Creates a line for what a user did on a page. No event of the library reports it.
    init(_ event: String, file: FileID, at time: String, text: String, badge: Badge? = nil, stage: Stage? = nil) {
        self.event = event
        self.file = file
        self.time = time
        self.text = text
        self.badge = badge
        self.stage = stage
    }

    /// Creates the line of an event of the library.
    init(_ event: LFSEvent, at date: Date, times: LocalTime) {
        time = times.seconds(date)
        file = event.fileID
        switch event {
        case .queued:
            self.event = "queued"
            text = "The row was committed. The bytes are in the .lfs folder, and the upload is queued."
            badge = Badge(state: "waiting", text: "waiting")
            stage = .queue
        case .progress(_, let progress):
            let percent = FileTransfer(direction: .upload, progress: progress).percent
            self.event = "progress"
            text = "\(percent) % are uploaded."
            badge = Badge(state: "uploading", text: "uploading \(percent) %")
            stage = .uploading
        case .uploaded(_, _, let byteCount):
            self.event = "uploaded"
            text = "The storage confirmed all \(Words.bytes(byteCount)). The row is remote."
            badge = .remote(isHere: true)
            stage = .remote
        case .failed(_, let failure, let delay):
            self.event = "failed"
            stage = .queue
            if let delay {
                let next = date.addingTimeInterval(delay / .seconds(1))
                text = "An attempt failed: \(failure.reason) LFS tries again at \(times.seconds(next))."
                badge = .retrying(at: next, reason: failure.reason, times: times)
            } else {
                text = "LFS gave up the upload: \(failure.reason)"
                badge = Badge(state: "failed", text: "failed", reason: failure.reason)
            }
        case .cancelled:
            self.event = "cancelled"
            text = "The upload was cancelled. The file stays on this device."
            badge = Badge(state: "cancelled", text: "cancelled")
            stage = .queue
        case .downloading(_, let progress):
            let percent = FileTransfer(direction: .download, progress: progress).percent
            self.event = "downloading"
            text = "\(percent) % are downloaded."
            badge = Badge(state: "downloading", text: "downloading \(percent) %")
        case .downloaded(_, let byteCount):
            self.event = "downloaded"
            text = "LFS fetched \(Words.bytes(byteCount)) back, and their checksum is correct."
            badge = .remote(isHere: true)
            stage = .fetched
        case .downloadFailed(_, let error):
            self.event = "downloadFailed"
            text = "The download failed: \(error.message)"
        case .outage(let outage?):
            self.event = "outage"
            text = "The storage is unavailable: \(outage.reason) Uploads wait, and nothing is lost."
        case .outage(nil):
            self.event = "outage"
            text = "The storage is available again. Uploads continue."
        case .databaseFailed(let error):
            self.event = "databaseFailed"
            text = "The database failed: \(error.message) LFS tries again."
        case .removed:
            self.event = "removed"
            text = "The row was deleted. LFS removed the local copy and the object."
            stage = .removed
        @unknown default:
            self.event = "other"
            text = "LFS sent an event that this version of the journal does not know."
        }
    }

    /// Indicates that a later line with the same name replaces this one: progress is reported ten times a second.
    var isProgress: Bool { event == "progress" || event == "downloading" }
}

extension LFSEvent {
    /// The file of the event. Nil for an event of the whole storage or of the database.
    var fileID: FileID? {
        switch self {
        case .queued(let id), .progress(let id, _), .uploaded(let id, _, _), .failed(let id, _, _),
            .cancelled(let id), .downloading(let id, _), .downloaded(let id, _), .downloadFailed(let id, _),
            .removed(let id):
            id
        case .outage, .databaseFailed: nil
        @unknown default: nil
        }
    }
}
