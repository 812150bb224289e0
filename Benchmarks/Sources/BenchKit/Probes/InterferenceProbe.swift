import LFS
import Synchronization

/// A probe that measures the effect of uploads on the app's own writes.
package struct InterferenceProbe: Sendable {
    package var files: Int
    package var bytesPerFile: Int
    /// The number of writes that are measured without uploads.
    package var writes: Int
    /// The pause between two writes.
    package var pause: Duration
    /// The duration of each upload in the storage.
    package var latency: Duration
    package var connections: Int
    /// The folder of the database.
    package var folder: String

    package init(
        files: Int, bytesPerFile: Int, writes: Int, pause: Duration, latency: Duration, connections: Int, folder: String
    ) {
        self.files = files
        self.bytesPerFile = bytesPerFile
        self.writes = writes
        self.pause = pause
        self.latency = latency
        self.connections = connections
        self.folder = folder
    }

    /// Runs half of the idle writes, then the uploads with concurrent writes, then the other half.
    ///
    /// - Throws: `BenchError` if an upload fails or if the values cannot be compared.
    package func run() async throws -> InterferenceSample {
        let trace = WriterTrace()
        let host = try HostDatabase(in: folder, prepare: trace.attach)
        try await host.attach(files, bytes: bytesPerFile)
        Disk.settle()
        let storage = InstantStorage(latency: latency)
        return try await host.withManager(storage, connections: connections) { lfs in
            lfs.pause()
            try lfs.start()
            _ = try await idle(host, count: Self.warmUp)
            let before = try await idle(host, count: (writes + 1) / 2)
            _ = trace.take()
            let start = ContinuousClock.now
            let isOver = Atomic(false)
            async let ended = Self.upload(lfs) { isOver.store(true, ordering: .relaxed) }
            let during = try await busy(host) {
                storage.uploads.count < files && !isOver.load(ordering: .relaxed)
            }
            let summary = try await ended
            let commits = trace.take()
            let after = try await idle(host, count: writes / 2)
            guard summary.failed == 0, storage.uploads.count == files else {
                throw BenchError("\(storage.uploads.count) of \(files) files were uploaded.")
            }
            guard let idle = Latencies(before + after), let busy = Latencies(during), let own = Latencies(commits),
                let last = storage.uploads.last
            else { throw BenchError("The uploads were over before a write was. Upload more files.") }
            return InterferenceSample(
                files: files, uploadSeconds: (last - start) / .seconds(1), idle: idle, during: busy, ownCommits: own)
        }
    }

    private static let warmUp = 50

    private static func upload(_ lfs: LFSManager, onEnd: @Sendable () -> Void) async throws -> UploadSummary {
        defer { onEnd() }
        lfs.resume()
        return try await lfs.waitForUploads()
    }

    private func idle(_ host: HostDatabase, count: Int) async throws -> [Double] {
        var seconds: [Double] = []
        while seconds.count < count { try await seconds.append(write(host)) }
        return seconds
    }

    private func busy(_ host: HostDatabase, while isGoingOn: () -> Bool) async throws -> [Double] {
        var seconds: [Double] = []
        while isGoingOn() { try await seconds.append(write(host)) }
        return seconds
    }

    private func write(_ host: HostDatabase) async throws -> Double {
        let start = ContinuousClock.now
        try await host.writeNote()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        try await Task.sleep(for: pause)
        return seconds
    }
}
