import Foundation
import LFS

/// An event of a file or of the storage, as pages show it.
struct HistoryLine: Hashable, Sendable {
    /// The place of a file on the page "How it works".
    enum Stage: String, Hashable, Sendable { case queue, uploading, remote, freed, fetched, removed }

    let date: Date
    /// The file. Nil for an event of the whole storage or of the database.
    let file: FileID?
    /// The name of the library's event, or of what a user did.
    let name: String
    let sentence: String
    /// The badge that the file has from now on. Nil if the event does not change it.
    private(set) var badge: Badge?
    private(set) var stage: Stage?

    /// Creates a line for what a user did on a page. No event of the library reports it.
    init(
        _ name: String, file: FileID, at date: Date, sentence: String, badge: Badge? = nil, stage: Stage? = nil
    ) {
        self.name = name
        self.file = file
        self.date = date
        self.sentence = sentence
        self.badge = badge
        self.stage = stage
    }

    /// Creates the line of an event of the library.
    init(_ event: LFSEvent, at date: Date, times: LocalTime) {
        self.date = date
        file = event.fileID
        switch event {
        case .queued:
            name = "queued"
            sentence = "The row was committed. The bytes are in the .lfs folder, and the upload is queued."
            badge = Badge(state: "waiting", text: "waiting")
            stage = .queue
        case .progress(_, let progress):
            let percent = FileTransfer(direction: .upload, progress: progress).percent
            name = "progress"
            sentence = "\(percent) % are uploaded."
            badge = Badge(state: "uploading", text: "uploading \(percent) %")
            stage = .uploading
        case .uploaded(_, _, let byteCount):
            name = "uploaded"
            sentence = "The storage confirmed all \(Words.bytes(byteCount)). The row is remote."
            badge = .remote(isHere: true)
            stage = .remote
        case .failed(_, let failure, let delay):
            name = "failed"
            stage = .queue
            if let delay {
                let next = date.addingTimeInterval(delay / .seconds(1))
                sentence = "An attempt failed: \(failure.reason) LFS tries again at \(times.seconds(next))."
                badge = .retrying(at: next, reason: failure.reason, times: times)
            } else {
                sentence = "LFS gave up the upload: \(failure.reason)"
                badge = Badge(state: "failed", text: "failed", reason: failure.reason)
            }
        case .cancelled:
            name = "cancelled"
            sentence = "The upload was cancelled. The file stays on this device."
            badge = Badge(state: "cancelled", text: "cancelled")
            stage = .queue
        case .downloading(_, let progress):
            let percent = FileTransfer(direction: .download, progress: progress).percent
            name = "downloading"
            sentence = "\(percent) % are downloaded."
            badge = Badge(state: "downloading", text: "downloading \(percent) %")
        case .downloaded(_, let byteCount):
            name = "downloaded"
            sentence = "LFS fetched \(Words.bytes(byteCount)) back, and their checksum is correct."
            badge = .remote(isHere: true)
            stage = .fetched
        case .downloadFailed(_, let error):
            name = "downloadFailed"
            sentence = "The download failed: \(error.message)"
        case .outage(let outage?):
            name = "outage"
            sentence = "The storage is unavailable: \(outage.reason) Uploads wait, and nothing is lost."
        case .outage(nil):
            name = "outage"
            sentence = "The storage is available again. Uploads continue."
        case .databaseFailed(let error):
            name = "databaseFailed"
            sentence = "The database failed: \(error.message) LFS tries again."
        case .removed:
            name = "removed"
            sentence = "The row was deleted. LFS removed the local copy and the object."
            stage = .removed
        @unknown default:
            name = "other"
            sentence = "LFS sent an event that this version of the journal does not know."
        }
    }

    /// Indicates that a later line with the same name replaces this one: progress is reported ten times a second.
    var isProgress: Bool { name == "progress" || name == "downloading" }
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
