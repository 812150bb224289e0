import ArgumentParser
import LFSServer
import Logging

/// The options of the log.
struct LogOptions: ParsableArguments {
    /// The form of the lines of the log.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(
        help: ArgumentHelp(
            "The least severe messages in the log: trace, debug, info, notice, warning, error or critical. Each "
                + "request is a line of info. The default is info.", valueName: "level"), transform: LogOptions.level)
    var logLevel = Logger.Level.info

    @Option(help: ArgumentHelp("The form of the log's lines: text or json.", valueName: "format"))
    var logFormat = Format.text

    @Sendable private static func level(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("'\(text)' is not a level of the log. Levels are: \(names).")
        }
        return level
    }

    /// Makes all loggers of the process write to standard error in the chosen form, and returns the one of the server.
    /// Call it once.
    func bootstrap() -> Logger {
        LoggingSystem.bootstrap { [logLevel, logFormat] label in
            let provider = RequestLog.metadataProvider
            var handler: any LogHandler =
                switch logFormat {
                case .text: QuotingLogHandler.standardError(label: label, metadataProvider: provider)
                case .json: JSONLogHandler.standardError(label: label, metadataProvider: provider)
                }
            handler.logLevel = logLevel
            return handler
        }
        return Logger(label: "lfs-server")
    }
}
