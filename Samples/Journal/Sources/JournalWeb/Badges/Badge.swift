import Foundation
import JournalStorage
import LFS

/// The conditions that apply to all uploads: reasons why no file is uploaded now.
struct QueueConditions: Sendable {
    var outage: StorageOutage?
    var hold: UploadHold?
    var isPaused = false

    /// The reason why the app holds all uploads. Nil if it does not.
    var holdReason: String? { isPaused ? "Uploads are paused." : hold?.reason }
}

/// The values of a page from which the badges of its files are made.
struct BadgeMaker: Sendable {
    let conditions: QueueConditions
    /// The files on this device. Nil if they were not looked up.
    let copies: Set<FileID>?
    /// The transfers that are running now.
    let transfers: [FileID: FileTransfer]
    let now: Date
    let times: LocalTime

    func badge(_ image: StoredImage) -> Badge {
        Badge(image, isHere: copies.map { $0.contains(image.file.id) }, maker: self)
    }
}

/// The storage state of a file: a few words and, if necessary, a sentence.
struct Badge: Hashable, Sendable {
    /// The style sheet's class for the state.
    let state: String
    let text: String
    /// The reason why the file is not on the storage yet.
    private(set) var reason = ""
    /// The time of the next attempt in milliseconds since 1970, which scripts count down to. Empty for none.
    private(set) var until = ""
    private(set) var canRetry = false
    private(set) var canCancel = false
    private(set) var canFree = false
    private(set) var canFetch = false

    init(state: String, text: String, reason: String = "", until: Date? = nil) {
        self.state = state
        self.text = text
        self.reason = reason
        // A row may have any time.
        let seconds = until.map { min(max($0.timeIntervalSince1970, 0), 1e11) }
        self.until = seconds.map { "\(Int64($0 * 1_000))" } ?? ""
    }

    /// - Parameter isHere: Whether the file is on this device. Nil if it was not looked up.
    fileprivate init(_ image: StoredImage, isHere: Bool?, maker: BadgeMaker) {
        let upload = image.upload
        let transfer = maker.transfers[image.file.id]
        switch upload?.state {
        case .queued where transfer?.direction == .upload: self = .transferring(transfer)
        case .queued: self = .queued(upload, maker: maker)
        case .failed:
            self.init(state: "failed", text: "failed", reason: upload?.reason ?? "The reason is unknown.")
        case .cancelled:
            self.init(state: "cancelled", text: "cancelled", reason: upload?.reason ?? "The upload was cancelled.")
        case nil where transfer?.direction == .download && image.file.status == .remote:
            self = .transferring(transfer)
        case nil where image.file.status == .remote: self = .remote(isHere: isHere)
        case nil:
            self.init(
                state: "elsewhere", text: "elsewhere",
                reason: "The device that made it has not uploaded it yet.")
        }
        canRetry = upload?.state == .failed || upload?.state == .cancelled || state == "retrying"
        canCancel = upload?.state == .queued
        canFree = image.file.status == .remote && upload == nil && isHere == true
        canFetch = image.file.status == .remote && isHere == false
    }

    private static func transferring(_ transfer: FileTransfer?) -> Badge {
        let isUpload = transfer?.direction == .upload
        let name = isUpload ? "uploading" : "downloading"
        return Badge(state: name, text: "\(name) \(transfer?.percent ?? 0) %")
    }

    /// The badge of a file that is on the storage.
    static func remote(isHere: Bool?) -> Badge {
        switch isHere {
        case true?: Badge(state: "remote", text: "remote and on this device")
        case false?: Badge(state: "remote-only", text: "remote only")
        case nil: Badge(state: "remote", text: "remote")
        }
    }

    /// The badge of a file whose last attempt failed and that has another one.
    static func retrying(at next: Date, reason: String, times: LocalTime) -> Badge {
        Badge(state: "retrying", text: "failed, next try at \(times.seconds(next))", reason: reason, until: next)
    }

    private static func queued(_ upload: Upload?, maker: BadgeMaker) -> Badge {
        if let outage = maker.conditions.outage {
            return Badge(state: "waiting", text: "waiting", reason: outage.reason)
        }
        if maker.conditions.isPaused { return Badge(state: "held", text: "held", reason: "Uploads are paused.") }
        if let hold = maker.conditions.hold { return Badge(state: "held", text: "held", reason: hold.reason) }
        if let next = upload?.nextAttempt, let reason = upload?.reason, next > maker.now {
            return retrying(at: next, reason: reason, times: maker.times)
        }
        return Badge(
            state: "waiting", text: "waiting", reason: upload?.reason ?? "The upload has not started yet.")
    }
}
