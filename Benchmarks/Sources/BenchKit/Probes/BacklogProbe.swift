import GRDB
import LFS

/// A probe that starts a manager on a database with many pending uploads, and measures the first of them.
package struct BacklogProbe: Sendable {
    /// The number of measured uploads. Some more rows have bytes.
    package var uploads: Int
    /// The folder of the database.
    package var folder: String

    package init(uploads: Int, folder: String) {
        self.uploads = uploads
        self.folder = folder
    }

    /// The number of additional files with bytes, for the uploads that are in progress at the end.
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

    /// Returns when the rows of all measured uploads are updated.
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
