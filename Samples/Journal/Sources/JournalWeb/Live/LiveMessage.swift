import Foundation

/// A message to open pages: an event of `text/event-stream` (https://html.spec.whatwg.org/#server-sent-events).
enum LiveMessage: Sendable {
    /// An event of a file or of the whole storage.
    case line(HistoryLine)
    /// The reason why the storage is unavailable. Nil when it is available.
    case storage(String?)
    /// The journal has changed: pages load their contents again.
    case changed
    /// A message without content that keeps the connection open.
    case alive

    /// The message in the format of the stream.
    var text: String {
        switch self {
        case .line(let line): "event: file\ndata: \(Self.json(Self.values(line)))\n\n"
        case .storage(let reason): "event: storage\ndata: \(Self.json(["reason": reason ?? ""]))\n\n"
        case .changed: "event: changed\ndata: {}\n\n"
        case .alive: ": alive\n\n"
        }
    }

    private static func values(_ line: HistoryLine) -> [String: String] {
        var values = ["name": line.event, "line": line.text, "time": line.time]
        if let file = line.file { values["file"] = "\(file)" }
        if let stage = line.stage { values["stage"] = stage.rawValue }
        guard let badge = line.badge else { return values }
        values["state"] = badge.state
        values["text"] = badge.text
        values["reason"] = badge.reason
        values["until"] = badge.until
        return values
    }

    /// Returns JSON in one line, since JSON escapes line breaks.
    private static func json(_ values: [String: String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(values) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
