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

    /// Returns the message in the format of the stream.
    func text(version: String) -> String {
        switch self {
        case .line(let line): Self.event("file", values: Self.values(line), version: version)
        case .storage(let reason): Self.event("storage", values: ["reason": reason ?? ""], version: version)
        case .changed: Self.event("changed", values: [:], version: version)
        case .alive: ": alive\n\n"
        }
    }

    private static func event(_ name: String, values: [String: String], version: String) -> String {
        "id: \(version)\nevent: \(name)\ndata: \(json(values))\n\n"
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
