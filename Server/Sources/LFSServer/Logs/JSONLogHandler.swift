import Foundation
public import Logging
import Synchronization

/// A log handler that writes each event as a line of JSON.
///
/// A line has the members `time` (ISO 8601, UTC), `level`, `label` and `message`, and a member for each field of the
/// metadata. Fields with one of these four names have an underscore in front.
public struct JSONLogHandler: LogHandler {
    public var logLevel: Logger.Level = .info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let write: @Sendable (String) -> Void

    /// Returns a handler that writes to standard error.
    ///
    /// - Parameter metadataProvider: adds fields to each line, such as ``RequestLog/metadataProvider``.
    public static func standardError(
        label: String, metadataProvider: Logger.MetadataProvider? = nil
    ) -> JSONLogHandler {
        JSONLogHandler(label: label, metadataProvider: metadataProvider) { line in
            // Lines of several threads must not mix. An error of this write cannot be reported.
            output.withLock { _ in _ = try? FileHandle.standardError.write(contentsOf: Data(line.utf8)) }
        }
    }

    private static let output = Mutex(())

    /// - Parameter write: receives each line with its line ending.
    init(
        label: String, metadataProvider: Logger.MetadataProvider? = nil, write: @escaping @Sendable (String) -> Void
    ) {
        self.label = label
        self.metadataProvider = metadataProvider
        self.write = write
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { _, new in new }
        if let error = event.error { fields["error"] = "\(error)" }
        fields.merge(event.metadata ?? [:]) { _, new in new }
        var line = "{\"time\":\(Self.quoted(Date().formatted(Self.time))),\"level\":\"\(event.level.rawValue)\","
        line += "\"label\":\(Self.quoted(label)),\"message\":\(Self.quoted("\(event.message)"))"
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            let isTaken = ["time", "level", "label", "message"].contains(name)
            line += ",\(Self.quoted(isTaken ? "_" + name : name)):\(Self.text(value))"
        }
        write(line + "}\n")
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Returns a value of the metadata as JSON.
    private static func text(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .string(let text): return quoted(text)
        case .stringConvertible(let value):
            if let number = value as? any BinaryInteger { return "\(number)" }
            if let flag = value as? Bool { return "\(flag)" }
            if let number = value as? Double, number.isFinite { return "\(number)" }
            return quoted(value.description)
        case .array(let values): return "[\(values.map(text).joined(separator: ","))]"
        case .dictionary(let fields):
            let members = fields.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\(text($0.value))" }
            return "{\(members.joined(separator: ","))}"
        }
    }

    /// Returns a text as a JSON string (RFC 8259, section 7), in which each control and format character is escaped.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case _ where QuotingLogHandler.isInvisible(scalar):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            case "\"", "\\": quoted += "\\\(scalar)"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
