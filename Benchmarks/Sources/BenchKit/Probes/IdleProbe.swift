import GRDB
import LFS
import Synchronization

/// A probe that measures an idle manager.
package struct IdleProbe: Sendable {
    /// The duration of the measurement in seconds.
    package var seconds: Double
    /// The number of files that the manager uploads before.
    package var files: Int
    /// The folder of the database.
    package var folder: String

    package init(seconds: Double, files: Int, folder: String) {
        self.seconds = seconds
        self.files = files
        self.folder = folder
    }

    package func run() async throws -> IdleSample {
        let statements = StatementCount()
        let host = try HostDatabase(in: folder, prepare: statements.attach)
        try await host.attach(files, bytes: 1_024)
        return try await host.withManager(InstantStorage()) { lfs in
            try lfs.start()
            try await lfs.waitForUploads()
            // After this time, work that the last commit triggered is complete.
            try await Task.sleep(for: .seconds(3))
            _ = statements.take()
            let cpu = try OwnUsage.cpuSeconds()
            let start = ContinuousClock.now
            try await Task.sleep(for: .seconds(seconds))
            let watched = (ContinuousClock.now - start) / .seconds(1)
            return IdleSample(
                seconds: watched, cpuSeconds: try OwnUsage.cpuSeconds() - cpu, statements: statements.take())
        }
    }
}

/// A counter of the statements on all connections of a database.
///
/// The mutex owns its state. Events arrive on the queue of each connection.
private final class StatementCount: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func take() -> [String: Int] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
    }

    @Sendable func attach(to db: Database) {
        db.trace { [self] event in
            if case .statement(let statement) = event { counts.withLock { $0[statement.sql, default: 0] += 1 } }
        }
    }
}
