import GRDB
import Synchronization

/// A trace of the host's writer that logs how long the library's transactions block it.
///
/// The mutex owns its state. Events arrive on the writer's own queue.
final class WriterTrace: Sendable {
    private let log = Mutex(TransactionLog(hostTable: "note"))

    /// Returns the logged durations and clears the log.
    func take() -> [Double] {
        log.withLock { log in
            defer { log = TransactionLog(hostTable: "note") }
            return log.durations
        }
    }

    @Sendable func attach(to db: Database) {
        guard !db.configuration.readonly else { return }
        db.trace(options: [.statement, .profile]) { [self] event in
            switch event {
            case .statement(let statement): log.withLock { $0.starts(statement.sql, at: .now) }
            case .profile(let statement, _): log.withLock { $0.ends(statement.sql, at: .now) }
            @unknown default: return
            }
        }
    }
}
