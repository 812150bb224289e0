import Foundation
import LFS

/// What open pages are told: an event of `text/event-stream` (https://html.spec.whatwg.org/#server-sent-events).
enum LiveMessage: Sendable {
    /// The badge of one file.
    case file(FileID, state: String, text: String)
    /// Why the storage is of no use now; nil when it is there.
    case storage(String?)
    /// Something of the journal has changed: pages load what they show again.
    case changed
    /// Nothing but that the connection is alive.
    case alive

    /// nil for events that change no badge.
    init?(_ event: LFSEvent) {
        switch event {
        case .queued(let id): self = .file(id, state: "waiting", text: "waiting")
        case .progress(let id, let progress):
            self = .file(id, state: "uploading", text: "\(Int(progress.fractionCompleted * 100)) %")
        case .uploaded(let id, _, _): self = .file(id, state: "remote", text: "remote")
        case .failed(let id, let failure, let next):
            self = .file(
                id, state: next == nil ? "failed" : "waiting",
                text: (next == nil ? "failed: " : "waiting: ") + failure.reason)
        case .cancelled(let id): self = .file(id, state: "cancelled", text: "cancelled")
        case .outage(let outage): self = .storage(outage?.reason)
        case .removed: self = .changed
        default: return nil
        }
    }

    /// As it goes over the wire.
    var text: String {
        switch self {
        case .file(let id, let state, let text):
            "event: file\ndata: \(Self.json(["file": "\(id)", "state": state, "text": text]))\n\n"
        case .storage(let reason): "event: storage\ndata: \(Self.json(["reason": reason ?? ""]))\n\n"
        case .changed: "event: changed\ndata: {}\n\n"
        case .alive: ": alive\n\n"
        }
    }

    /// One line, since JSON escapes line breaks.
    private static func json(_ values: [String: String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(values) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
