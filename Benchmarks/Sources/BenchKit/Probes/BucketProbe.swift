import Foundation
import GRDB
import LFS
import LFSS3
import LFSStorage

/// A probe that works on files in a bucket. The server and the keys come from the environment.
package struct BucketProbe: Sendable {
    package var bucket: String
    package var prefix: String
    /// The provider's name, as ``S3Provider`` defines it.
    package var provider: String?
    package var connections: Int
    /// The folder of the database.
    package var folder: String

    /// The file in the folder with the key of each object, one per line.
    package static let keysFile = "keys"

    /// Uploads the files of a folder and writes their keys to a file.
    func upload(_ source: String) async throws {
        let host = try HostDatabase(in: folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: source)
        try await host.withManager(try storage(), connections: connections) { lfs in
            try lfs.start()
            for first in stride(from: 0, to: names.count, by: 256) {
                let batch = names[first..<min(first + 256, names.count)]
                let sources = batch.map { FileSource.file(URL(fileURLWithPath: "\(source)/\($0)")) }
                let files = try await lfs.makeFiles(from: sources).map { try $0.get() }
                try await host.pool.write { db in for file in files { try file.insert(db) } }
            }
            let summary = try await lfs.waitForUploads()
            guard summary.failed == 0 else { throw BenchError("\(summary.failed) uploads failed.") }
        }
        let keys = try await host.pool.read { db in try FileData.fetchAll(db).map { "\(prefix)/\($0.key)" } }
        try Data(keys.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: "\(folder)/\(Self.keysFile)"))
    }

    /// Downloads every file into the local store, with verification and fsync.
    func download() async throws {
        let host = try HostDatabase(in: folder)
        try await host.withManager(try storage(), connections: connections) { lfs in
            let summary = try await lfs.prefetch(FileData.all())
            guard summary.failed == 0, summary.alreadyHere == 0, summary.fetched > 0 else {
                throw BenchError("\(summary.fetched) files were fetched, \(summary.failed) were not.")
            }
        }
    }

    /// Deletes every row, and waits until the storage has confirmed each deletion.
    func delete() async throws {
        let host = try HostDatabase(in: folder)
        try await host.withManager(try storage(), connections: connections) { lfs in
            try lfs.start()
            _ = try await host.pool.write { db in try FileData.deleteAll(db) }
            let left = try await lfs.waitForDeletions()
            guard left == 0 else { throw BenchError("\(left) deletions failed.") }
        }
    }

    private func storage() throws -> S3Storage {
        let environment = ProcessInfo.processInfo.environment
        guard let endpoint = environment["AWS_ENDPOINT_URL"].flatMap(URL.init(string:)) else {
            throw BenchError("Set AWS_ENDPOINT_URL.")
        }
        var options = S3Options()
        options.provider = provider.flatMap(S3Provider.named)
        options.allowsPlainHTTP = endpoint.scheme == "http"
        return try S3Storage(
            bucket: bucket, prefix: prefix, region: environment["AWS_REGION"], endpoint: endpoint, addressing: .path,
            credentials: .environment, options: options)
    }
}
