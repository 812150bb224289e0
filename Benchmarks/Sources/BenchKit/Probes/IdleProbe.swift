import GRDB
import LFS
import Synchronization

/// Measures in this process what a manager does while there is nothing to do.
package struct IdleProbe: Sendable {
    /// How long it is watched.
    package var seconds: Double
    /// How many files it has uploaded before.
    package var files: Int
    /// Where the database is made.
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
            // What the last commit has woken is over after this.
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

/// Counts the statements that run on any connection of a database.
///
/// Owner of its state: the mutex. Events come on the queue of each connection.
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
