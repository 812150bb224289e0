import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Metrics
import MetricsTestKit
import Synchronization
import Testing

@Suite("The gauges of the queue", .timeLimit(.minutes(10)))
struct QueueGaugeTests {
    /// The statements that read or wrote the jobs.
    private final class JobLog: Sendable {
        private let statements = Mutex<[String]>([])

        var configuration: Configuration {
            var configuration = Configuration()
            configuration.prepareDatabase { db in
                db.trace { event in
                    let statement = "\(event)"
                    if statement.contains("lfs_job") { self.statements.withLock { $0.append(statement) } }
                }
            }
            return configuration
        }

        var all: [String] { statements.withLock { $0 } }

        /// Forgets all of it when nothing was added for longer than two looks may ever be apart: after a slow one on a
        /// busy machine the next waits for up to 15 seconds.
        func settle() async throws {
            var count = -1
            while count != all.count {
                count = all.count
                try await Task.sleep(for: .seconds(16))
            }
            statements.withLock { $0 = [] }
        }
    }

    private struct Gauges {
        let metrics: TestMetrics

        func last(_ label: String, dimensions: (String, String)...) -> Double? {
            metrics.meters(label: label, dimensions: dimensions).first?.lastValue
        }

        var queued: Double? { last("lfs.pending.files", dimensions: ("state", "queued")) }
        var failed: Double? { last("lfs.pending.files", dimensions: ("state", "failed")) }
        var bytes: Double? { last("lfs.pending.bytes") }
        var age: Double? { last("lfs.pending.oldest_age") }
        var executors: Double? { last("lfs.executors") }
        var reports: Int { metrics.meters(label: "lfs.pending.bytes").first?.values.count ?? 0 }
    }

    private func withGauges(
        _ storage: any RemoteStorage, log: JobLog = JobLog(),
        _ body: (Gauges, LFSManager, DatabasePool) async throws -> Void
    ) async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withManager(storage, configuration: log.configuration) { lfs, database in
                try await body(Gauges(metrics: metrics), lfs, database)
            }
        }
    }

    @Test("The gauges show pending files and busy executors, and return to zero")
    func follow() async throws {
        let gate = GatedStorage(InMemoryStorage())
        try await withGauges(gate) { gauges, lfs, database in
            for number in 1...5 { _ = try await lfs.attach(Data(repeating: 1, count: number * 1_000), in: database) }
            try await until { gauges.queued == 5 && gauges.bytes == 15_000 && gauges.age ?? 0 > 0 }
            try await until { gauges.executors ?? 0 >= 1 }
            gate.open()
            try await lfs.waitForUploads()
            try await until { gauges.queued == 0 && gauges.bytes == 0 && gauges.age == 0 && gauges.executors == 0 }
            #expect(gauges.failed == 0)
        }
    }

    @Test("The gauges show files that have failed for good until they are retried")
    func failures() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.upload], with: StorageError(.invalidRequest, message: "Never."))
        try await withGauges(storage) { gauges, lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 1_000), in: database)
            try await until { gauges.failed == 1 && gauges.queued == 0 }
            lfs.pause()
            try await lfs.retry()
            try await until { gauges.failed == 0 && gauges.queued == 1 }
        }
    }

    @Test("The age of a pending file grows without a query of the queue")
    func age() async throws {
        let log = JobLog()
        try await withGauges(InMemoryStorage(), log: log) { gauges, lfs, database in
            lfs.pause()
            let file = try await lfs.attach(Data(repeating: 1, count: 1_000), in: database)
            try await until { gauges.queued == 1 }
            // What the commit has rung for may be read once more.
            try await log.settle()
            let before = try #require(gauges.age)
            try await until { gauges.age ?? 0 > before + 4 }
            #expect(log.all == [])
            let age = try #require(gauges.age)
            #expect(age <= Date().timeIntervalSince(file.createdAt) + 1)
        }
    }

    @Test("A manager that has nothing to do reads no queue and sets no gauge")
    func idle() async throws {
        let log = JobLog()
        try await withGauges(InMemoryStorage(), log: log) { gauges, lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 1_000), in: database)
            try await lfs.waitForUploads()
            try await until { gauges.queued == 0 && gauges.executors == 0 }
            try await log.settle()
            let reports = gauges.reports
            try await Task.sleep(for: .seconds(3))
            #expect(log.all == [])
            #expect(gauges.reports == reports)
        }
    }

    @Test("The queue is not counted without a metrics backend")
    func unheard() async throws {
        let log = JobLog()
        try await withManager(InMemoryStorage(), configuration: log.configuration) { lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 1_000), in: database)
            try await lfs.waitForUploads()
            #expect(log.all.isEmpty == false)
            #expect(log.all.allSatisfy { !$0.contains("total(byteCount)") })
        }
    }

    @Test("The queue is counted at most once a second while many files are uploaded")
    func seldom() async throws {
        let log = JobLog()
        try await withGauges(InMemoryStorage(), log: log) { gauges, lfs, database in
            func looks() -> Int { log.all.count { $0.contains("total(byteCount)") } }
            let before = looks()
            let start = ContinuousClock.now
            for number in 0..<300 { _ = try await lfs.attach(Data(repeating: 1, count: number), in: database) }
            try await lfs.waitForUploads()
            try await until { gauges.queued == 0 }
            let count = looks() - before
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            #expect(Double(count) <= seconds + 2)
        }
    }
}
