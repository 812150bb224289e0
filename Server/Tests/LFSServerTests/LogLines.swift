import Logging
import Synchronization

/// A log handler that keeps its lines. The mutex owns the state.
final class LogLines: LogHandler, Sendable {
    let all = Mutex<[(message: String, metadata: Logger.Metadata)]>([])

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    func log(event: LogEvent) { all.withLock { $0.append(("\(event.message)", event.metadata ?? [:])) } }
}
