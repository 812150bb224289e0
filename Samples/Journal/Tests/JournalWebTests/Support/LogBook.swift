import Foundation
import Logging
import Synchronization

/// A log handler that keeps the lines.
final class LogBook: LogHandler, Sendable {
    private let all = Mutex<[String]>([])
    private let fields = Mutex<(metadata: Logger.Metadata, level: Logger.Level)>(([:], .info))

    var lines: [String] { all.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { fields.withLock { $0.metadata[key] } }
        set { fields.withLock { $0.metadata[key] = newValue } }
    }

    var metadata: Logger.Metadata {
        get { fields.withLock { $0.metadata } }
        set { fields.withLock { $0.metadata = newValue } }
    }

    var logLevel: Logger.Level {
        get { fields.withLock { $0.level } }
        set { fields.withLock { $0.level = newValue } }
    }

    func log(event: LogEvent) {
        let line = "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])"
        all.withLock { $0.append(line) }
    }
}
