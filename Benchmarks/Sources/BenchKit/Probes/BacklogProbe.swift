import GRDB
import LFS

/// Starts a manager in this process on a database with many uploads that wait, and measures the first of them.
package struct BacklogProbe: Sendable {
    /// How many uploads are measured; so many and some more have bytes.
    package var uploads: Int
    /// Where the database is.
    package var folder: String

    package init(uploads: Int, folder: String) {
        self.uploads = uploads
        self.folder = folder
    }

    /// How many files have to have bytes beyond those that are measured: what the queue has in hand at the end.
    package static let reserve = 512

    package func run() async throws -> BacklogSample {
        let host = try HostDatabase(in: folder)
        _ = try await host.pool.read { db in try FileData.limit(1).fetchAll(db) }
        let memory = try OwnUsage.peakBytes()
        let storage = InstantStorage(limit: uploads)
        let opening = ContinuousClock.now
        return try await host.withManager(storage) { lfs in
            let events = lfs.events(bufferingPolicy: .unbounded)
            let cpu = try OwnUsage.cpuSeconds()
            let start = ContinuousClock.now
            try lfs.start()
            try await waitForRows(events)
            let end = ContinuousClock.now
            let usedCPU = try OwnUsage.cpuSeconds() - cpu
            let extra = try OwnUsage.peakBytes() - memory
            guard let first = storage.uploads.first else { throw BenchError("Nothing was uploaded.") }
            return BacklogSample(
                uploads: uploads, openSeconds: (start - opening) / .seconds(1),
                firstUploadSeconds: (first - start) / .seconds(1), uploadSeconds: (end - start) / .seconds(1),
                cpuSeconds: usedCPU, extraBytes: extra)
        }
    }

    /// Returns when the rows of all measured uploads say that they are through.
    private func waitForRows(_ events: AsyncStream<LFSEvent>) async throws {
        var uploaded = 0
        for await event in events {
            switch event {
            case .uploaded: uploaded += 1
            case .failed(_, let failure, _): throw BenchError("An upload failed: \(failure)")
            default: continue
            }
            if uploaded == uploads { return }
        }
        throw BenchError("The manager has stopped after \(uploaded) uploads.")
    }
}
