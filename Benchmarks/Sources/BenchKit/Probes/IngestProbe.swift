import Foundation
import GRDB
import LFS

/// A probe that ingests the files of a folder and measures the time that an app waits.
package struct IngestProbe: Sendable {
    /// The folder with the files, which are not moved.
    package var source: String
    /// The folder of the database.
    package var folder: String

    package init(source: String, folder: String) {
        self.source = source
        self.folder = folder
    }

    /// Ingests one file after the other with `makeFile`, without rows.
    package func each() async throws -> IngestTimes {
        let host = try HostDatabase(in: folder)
        let files = try sources()
        return try await host.withManager(InstantStorage()) { lfs in
            let start = ContinuousClock.now
            var durations: [Double] = []
            for file in files {
                let begin = ContinuousClock.now
                _ = try await lfs.makeFile(from: file)
                durations.append((ContinuousClock.now - begin) / .seconds(1))
            }
            let end = ContinuousClock.now
            return IngestTimes(
                files: files.count, seconds: (end - start) / .seconds(1), each: Latencies(durations))
        }
    }

    /// Ingests 64 files at a time with `makeFiles`, each batch with its rows in one transaction, until all are in the
    /// local store. Each commit is synced, as in the C program.
    package func batches() async throws -> IngestTimes {
        let host = try HostDatabase(in: folder)
        try HostDatabase.syncEachCommit(host.pool)
        let files = try sources()
        return try await host.withManager(InstantStorage()) { lfs in
            lfs.pause()
            try lfs.start()
            let events = lfs.events(bufferingPolicy: .unbounded)
            let start = ContinuousClock.now
            for first in stride(from: 0, to: files.count, by: Self.batch) {
                let batch = Array(files[first..<min(first + Self.batch, files.count)])
                let made = try await lfs.makeFiles(from: batch).map { try $0.get() }
                try await host.pool.write { db in for file in made { try file.insert(db) } }
            }
            var promoted = 0
            for await case .queued in events {
                promoted += 1
                if promoted == files.count { break }
            }
            let end = ContinuousClock.now
            return IngestTimes(files: files.count, seconds: (end - start) / .seconds(1), each: nil)
        }
    }

    /// The batch size of the C program.
    private static let batch = 64

    private func sources() throws -> [FileSource] {
        try FileManager.default.contentsOfDirectory(atPath: source).map { name in
            .file(URL(fileURLWithPath: "\(source)/\(name)"))
        }
    }
}
