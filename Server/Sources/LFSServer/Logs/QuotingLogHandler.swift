public import Logging

/// A log handler that quotes ambiguous values.
///
/// An empty value is quoted, and also a value with whitespace, control characters, or one of `=`, `"`, `\`, `[`, `]`,
/// `,`. In quotes, `"` and `\` are escaped with a backslash, and control characters as `\u{HEX}`. Without quotes, a key
/// that a client has chosen could look like further fields.
public struct QuotingLogHandler: LogHandler {
    private var base: StreamLogHandler

    /// Returns a handler that writes to standard error.
    ///
    /// - Parameter metadataProvider: adds fields to each line, such as ``RequestLog/metadataProvider``.
    public static func standardError(
        label: String, metadataProvider: Logger.MetadataProvider? = nil
    ) -> QuotingLogHandler {
        QuotingLogHandler(base: .standardError(label: label, metadataProvider: metadataProvider))
    }

    private init(base: StreamLogHandler) { self.base = base }

    public var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    public var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    public var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue.mapValues(Self.quoted) }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue.map(Self.quoted) }
    }

    public func log(event: LogEvent) {
        var event = event
        event.metadata = event.metadata?.mapValues(Self.quoted)
        base.log(event: event)
    }

    static func quoted(_ value: Logger.Metadata.Value) -> Logger.Metadata.Value {
        switch value {
        case .string(let text): .string(quoted(text))
        case .stringConvertible(let value): .string(quoted(value.description))
        case .array(let values): .array(values.map(quoted))
        case .dictionary(let fields): .dictionary(fields.mapValues(quoted))
        }
    }

    /// Returns the text, in quotes if it is empty or if a reader could see several values in it.
    static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.unicodeScalars.allSatisfy { !needsQuotes($0) }
        guard !isPlain else { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where isInvisible(scalar): quoted += "\\u{\(String(scalar.value, radix: 16))}"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func needsQuotes(_ scalar: Unicode.Scalar) -> Bool {
        ["=", "\"", "\\", "[", "]", ","].contains(scalar) || scalar.properties.isWhitespace || isInvisible(scalar)
    }

    static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
