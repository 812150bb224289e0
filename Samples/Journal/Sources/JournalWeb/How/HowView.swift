import JournalStorage
import LFS

/// The page "How it works".
struct HowView: Sendable {
    let stages: [FlowStage]
    let lines: [HistoryLine]
    /// The id of the file whose rows are shown. Nil for none.
    let chosen: String?
    let rows: [TableRow]
    let faults: [FlowFault]
    /// The reason why the storage is unavailable. A template would find `outage` in the page around this view.
    let outageReason: String?
    let holdReason: String?
    /// The files that are not on the storage yet, with the reason.
    let waiting: [FlowFile]
    let isEmpty: Bool
    let canFill: Bool
    /// Indicates that the process can be killed.
    let canKill: Bool
    /// The number of restarts in words. Nil for none.
    let restarts: String?
    /// The result of the last comparison of all bytes. Nil for none.
    let round: String?

    /// Returns the result of a comparison as sentences.
    static func text(_ round: RoundCheck.Round) -> String {
        let copies = Words.count(round.copies, one: "local copy", more: "local copies")
        let objects = Words.count(round.objects, one: "object", more: "objects")
        let result =
            round.findings == 0 ? "All are right, and nothing is lost." : "\(round.findings) are not right."
        return
            "Round \(round.number), after \(round.cause): LFS compared the bytes of \(copies) and \(objects). \(result)"
    }
}

/// A file that moves through the stages.
struct FlowFile: Sendable {
    let id: String
    let name: String
    let thumbnail: String
    let stage: HistoryLine.Stage
    let badge: Badge
    let isChosen: Bool

    /// - Parameter last: The name of the last event of the file. Nil for a file without events since the start.
    init(_ image: StoredImage, badge: Badge, isChosen: Bool, last: String?) {
        id = "\(image.file.id)"
        name = image.file.name ?? "without a name"
        thumbnail = "/files/\(id)/thumbnail" + (badge.state == "elsewhere" ? "?elsewhere" : "")
        self.badge = badge
        self.isChosen = isChosen
        stage =
            switch badge.state {
            case "uploading": .uploading
            case "remote-only", "downloading": .freed
            case "remote": last == "downloaded" ? .fetched : .remote
            default: .queue
            }
    }
}

/// A stage with its counts and its newest files.
struct FlowStage: Sendable {
    let id: String
    let number: Int
    let name: String
    let text: String
    let files: Int
    let size: String
    let chips: [FlowFile]
    /// Indicates that files are shown in the stage.
    let hasChips: Bool
    /// Indicates that files pass the stage now.
    let isBusy: Bool

    /// The largest number of files that are shown in a stage.
    private static let maxChips = 9

    static func all(
        files: [FlowFile], store: StoreCounts, transfers: [FileID: FileTransfer], fetched: FileAmount
    ) -> [FlowStage] {
        let uploads = transfers.values.filter { $0.direction == .upload }.map(\.progress.bytesTransferred)
        let uploading = FileAmount(files: uploads.count, byteCount: uploads.reduce(0, &+))
        let freed = store.remote.subtracting(store.copies.subtracting(store.unproven))
        let stages: [(id: String, name: String, text: String, amount: FileAmount, holds: Bool)] = [
            ("staging", "Staging", "The bytes are on the disk. The row is not committed yet.", store.staging, false),
            ("folder", ".lfs folder", "The row is committed. The local copies are here.", store.copies, false),
            ("queue", "Queue", "The job is a row of the database. It survives a crash.", store.queued, true),
            ("uploading", "Uploading", "The bytes are on their way. Small files pass at once.", uploading, true),
            ("remote", "Remote", "The storage confirmed the checksum.", store.remote, true),
            ("freed", "Freed", "Only the storage has the bytes.", freed, true),
            ("fetched", "Fetched back", "The file was needed, and LFS downloaded it.", fetched, true),
        ]
        return stages.enumerated().map { index, stage in
            FlowStage(
                id: stage.id, number: index + 1, name: stage.name, text: stage.text, files: stage.amount.files,
                size: Words.bytes(stage.amount.byteCount),
                chips: Array(files.filter { $0.stage.rawValue == stage.id }.prefix(maxChips)),
                hasChips: stage.holds,
                isBusy: stage.amount.files > 0 && ["staging", "queue", "uploading"].contains(stage.id))
        }
    }
}

/// A switch for a fault of the storage.
struct FlowFault: Sendable {
    let id: String
    let name: String
    let text: String
    let isOn: Bool

    /// Returns what happened while a fault was on, as a clause.
    static func cause(_ fault: DemoStorage.Fault) -> String {
        switch fault {
        case .away: "the storage was away"
        case .slow: "the network was slow"
        case .full: "the storage was full"
        }
    }

    init(_ fault: DemoStorage.Fault, isOn: Bool) {
        id = fault.rawValue
        self.isOn = isOn
        switch fault {
        case .away:
            name = "Storage away"
            text = "LFS keeps all files in the queue, and asks the storage with one file at a time until it answers."
        case .slow:
            name = "Slow network"
            text = "Each upload takes four seconds longer. You can add pictures in the meantime."
        case .full:
            name = "Storage full"
            text = "Each attempt fails. LFS waits longer after each one, and gives up no file."
        }
    }
}
