import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Metrics
import MetricsTestKit
import Testing

@Suite("Metrics", .timeLimit(.minutes(10)))
struct MetricsTests {
    private static let storage = ("storage", "memory")

    /// A storage that takes a file, and says that it has a byte less.
    private struct ShortStorage: StorageWrapper {
        let base: any RemoteStorage

        func upload(
            _ source: UploadSource, to key: ObjectKey, session: UploadSession
        ) async throws -> RemoteObject {
            var object = try await base.upload(source, to: key, session: session)
            object.byteCount -= 1
            return object
        }
    }

    private func withMetrics(
        _ storage: any RemoteStorage, _ options: (inout LFSOptions) -> Void = { _ in },
        _ body: (TestMetrics, LFSManager, DatabasePool) async throws -> Void
    ) async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withManager(storage, configuration: Configuration(), options) { lfs, database in
                try await body(metrics, lfs, database)
            }
        }
    }

    private func count(_ metrics: TestMetrics, label: String, dimensions: (String, String)...) -> Int64 {
        metrics.counterTotal(label: label, dimensions: [Self.storage] + dimensions)
    }

    private func durations(_ metrics: TestMetrics, label: String, dimensions: [(String, String)]) throws -> [Int64] {
        try metrics.expectTimer(label, dimensions).values
    }

    @Test("Each step of a file's life is counted once, with its bytes")
    func wholeWay() async throws {
        try await withMetrics(InMemoryStorage()) { metrics, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 12_345), in: database)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            #expect(try await lfs.data(of: file.id)?.count == 12_345)
            _ = try await database.write { db in try file.delete(db) }
            try await until { count(metrics, label: "lfs.deletes", dimensions: ("outcome", "success")) == 1 }

            for label in ["lfs.uploads", "lfs.downloads"] {
                #expect(count(metrics, label: label, dimensions: ("outcome", "success")) == 1)
                #expect(count(metrics, label: label, dimensions: ("outcome", "failure")) == 0)
            }
            #expect(count(metrics, label: "lfs.upload.bytes") == 12_345)
            #expect(count(metrics, label: "lfs.download.bytes") == 12_345)
            let success = [("outcome", "success")]
            for label in ["lfs.upload.duration", "lfs.download.duration"] {
                let taken = try durations(metrics, label: label, dimensions: [Self.storage] + success)
                #expect(taken.count == 1 && taken.allSatisfy { $0 > 0 })
            }
            #expect(try durations(metrics, label: "lfs.ingest.duration", dimensions: success).count == 1)
            #expect(metrics.counterTotal(label: "lfs.failures") == 0)
            #expect(metrics.counterTotal(label: "lfs.retries") == 0)
        }
    }

    @Test("A part of a file counts as a download of its own bytes")
    func range() async throws {
        try await withMetrics(InMemoryStorage()) { metrics, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 12_345), in: database)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            _ = try await lfs.bytes(of: file.id, range: 100..<200)
            #expect(count(metrics, label: "lfs.downloads", dimensions: ("outcome", "success")) == 1)
            #expect(count(metrics, label: "lfs.download.bytes") == 100)
        }
    }

    @Test("A failed upload is counted by its code and as a retry")
    func failedUpload() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.upload], with: StorageError(.serverError, message: "Not now."))
        try await withMetrics(storage) { metrics, lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
            try await lfs.waitForUploads()
            #expect(count(metrics, label: "lfs.uploads", dimensions: ("outcome", "failure")) == 1)
            #expect(count(metrics, label: "lfs.uploads", dimensions: ("outcome", "success")) == 1)
            #expect(
                count(
                    metrics, label: "lfs.failures", dimensions: ("operation", "upload"),
                    ("code", "serverError")) == 1)
            #expect(count(metrics, label: "lfs.upload.bytes") == 500)
            try await until { count(metrics, label: "lfs.retries", dimensions: ("reason", "serverError")) == 1 }
        }
    }

    @Test("An upload without the required proof counts as a failure")
    func unproven() async throws {
        try await withMetrics(ShortStorage(base: InMemoryStorage())) { metrics, lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
            try await until {
                count(
                    metrics, label: "lfs.failures", dimensions: ("operation", "upload"),
                    ("code", "integrity")) > 0
            }
            #expect(count(metrics, label: "lfs.uploads", dimensions: ("outcome", "success")) == 0)
            #expect(count(metrics, label: "lfs.upload.bytes") == 0)
        }
    }

    @Test("A download with several attempts counts once")
    func retriedDownload() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.download], times: 2, with: StorageError(.timeout, message: "Not now."))
        try await withMetrics(storage) { metrics, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            _ = try await lfs.data(of: file.id)
            #expect(storage.failuresLeft == 0)
            #expect(count(metrics, label: "lfs.downloads", dimensions: ("outcome", "success")) == 1)
            #expect(metrics.counterTotal(label: "lfs.downloads") == 1)
            #expect(metrics.counterTotal(label: "lfs.failures") == 0)
        }
    }

    @Test("Downloads, deletions and ingests that fail are counted by their codes")
    func otherFailures() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.download, .delete], times: .max,
            with: StorageError(.invalidRequest, message: "Never."))
        try await withMetrics(storage) { metrics, lfs, database in
            let file = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
            try await lfs.waitForUploads()
            try await lfs.evict(file.id)
            await #expect(throws: LFSError.self) { try await lfs.data(of: file.id) }
            await #expect(throws: LFSError.self) {
                try await lfs.makeFile(from: .file(URL(fileURLWithPath: "/nowhere/at/all")))
            }
            _ = try await database.write { db in try file.delete(db) }
            // The failures are counted after the deletions.
            try await until {
                count(
                    metrics, label: "lfs.failures", dimensions: ("operation", "delete"), ("code", "invalidRequest"))
                    > 0
            }
            #expect(count(metrics, label: "lfs.deletes", dimensions: ("outcome", "failure")) == 1)
            #expect(count(metrics, label: "lfs.downloads", dimensions: ("outcome", "failure")) == 1)
            for operation in ["download", "delete"] {
                #expect(
                    count(
                        metrics, label: "lfs.failures", dimensions: ("operation", operation),
                        ("code", "invalidRequest")) == 1)
            }
            #expect(
                count(
                    metrics, label: "lfs.failures", dimensions: ("operation", "ingest"), ("code", "missing")
                ) == 1)
            #expect(
                try durations(metrics, label: "lfs.ingest.duration", dimensions: [("outcome", "failure")]).count == 1)
        }
    }

    @Test("An unknown error code counts as other")
    func otherCode() async throws {
        let error = StorageError(StorageError.Code(rawValue: "file-4711"), message: "Never.")
        let storage = FailingStorage(InMemoryStorage(), on: [.upload], times: 1, with: error)
        try await withMetrics(storage) { metrics, lfs, database in
            _ = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
            try await lfs.waitForUploads()
            #expect(
                count(
                    metrics, label: "lfs.failures", dimensions: ("operation", "upload"), ("code", "other"))
                    == 1)
        }
    }

    @Test("An upload that a stop gives back is neither a success nor a failure")
    func cancelled() async throws {
        let gate = GatedStorage(InMemoryStorage())
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withManager(gate) {
                $0.shutdownTimeout = .milliseconds(10)
            } _: { lfs, database in
                _ = try await lfs.attach(Data(repeating: 1, count: 500), in: database)
                await gate.waitForArrivals(1)
            }
        }
        #expect(count(metrics, label: "lfs.uploads", dimensions: ("outcome", "cancelled")) == 1)
        #expect(metrics.counterTotal(label: "lfs.uploads") == 1)
        #expect(metrics.counterTotal(label: "lfs.failures") == 0)
    }

    @Test("Opening a manager makes every instrument, and none contains a file's name")
    func bounded() async throws {
        let storage = FailingStorage(
            InMemoryStorage(), on: [.upload], times: 1, with: StorageError(.serverError, message: "Not now."))
        try await withMetrics(storage) { metrics, lfs, database in
            func all() -> [[(String, String)]] {
                metrics.counters.map(\.dimensions) + metrics.timers.map(\.dimensions)
                    + metrics.meters.map(\.dimensions) + metrics.recorders.map(\.dimensions)
            }
            let atFirst = all().count
            for number in 0..<20 { _ = try await lfs.attach(Data(repeating: 1, count: number), in: database) }
            try await lfs.waitForUploads()
            #expect(all().count == atFirst)
            let keys = Set(all().joined().map(\.0))
            #expect(keys == ["storage", "outcome", "operation", "code", "reason", "state"])
        }
    }
}
