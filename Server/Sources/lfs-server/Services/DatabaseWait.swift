import LFSSyncServer
import Logging

/// A wait for a database that starts later than the server, or that another server migrates.
struct DatabaseWait {
    /// An error of a database that is not ready in time.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The maximum time until the database is ready.
    let limit: Duration
    let logger: Logger
    var clock: any Clock<Duration> = ContinuousClock()

    private static let longestPause = Duration.seconds(1)
    private static let reportInterval = Duration.seconds(10)

    /// Calls the body until it needs no longer wait.
    ///
    /// - Throws: ``Failure`` after the time limit, and other errors of the body.
    func opening<Value>(_ body: () async throws -> Value) async throws -> Value {
        let elapsed = clock.stopwatch()
        var pause = Duration.milliseconds(100)
        var reported: Duration?
        while true {
            let start = elapsed()
            do {
                return try await body()
            } catch let failure as SQLFailure where Self.isTemporary(failure) {
                let now = elapsed()
                // The next attempt may take as long as this one.
                guard now + pause + (now - start) < limit else { throw Self.failure(after: now, cause: failure) }
                if reported.map({ now - $0 >= Self.reportInterval }) ?? true {
                    reported = now
                    logger.notice(
                        "The database is not ready. The server waits for it.",
                        metadata: [
                            "error": "\(failure.message)", "waited": "\(now.components.seconds)s",
                            "limit": "\(limit.components.seconds)s",
                        ])
                }
                try await clock.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    private static func isTemporary(_ failure: SQLFailure) -> Bool {
        switch failure.code {
        // A migration of another server holds a lock.
        case .busy, .timeout, .unavailable: true
        default: false
        }
    }

    private static func failure(after time: Duration, cause: SQLFailure) -> Failure {
        Failure(
            description: """
                The database was not ready within \(time.components.seconds) seconds: \(cause.message) Start the \
                database and check --database, or raise --wait-for-database.
                """)
    }
}
