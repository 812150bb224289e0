import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Download events", .timeLimit(.minutes(10)))
struct DownloadEventTests {
    @Test("Downloads report their progress and result to all and to observers of one file")
    func events() async throws {
        let cut = CuttingStorage(InMemoryStorage(), after: 1 << 20, times: 1)
        let storage = SpoilingStorage(cut, fault: .flipped, times: 0)
        try await withHost(storage: storage) { host in
            let file: FileData
            let told: [LFSEvent]
            (file, told) = try await collect(host) { lfs in
                let file = try await remoteFile(someBytes(2 << 20), host: host, lfs: lfs)
                let progress = lfs.downloadProgress(of: file.id)
                _ = try await lfs.contents(of: file)
                var last: TransferProgress?
                for try await value in progress { last = value }
                #expect(last?.totalBytes == 2 << 20 && last?.fractionCompleted == 1)
                // A file with a local copy completes the progress too.
                let again = lfs.downloadProgress(of: file.id)
                _ = try await lfs.contents(of: file)
                last = nil
                for try await value in again { last = value }
                #expect(last?.fractionCompleted == 1)
                try await lfs.evict(file.id)
                storage.spoil(1)
                let failing = lfs.downloadProgress(of: file.id)
                #expect(await errorCode { _ = try await lfs.contents(of: file) } == .sourceChanged)
                #expect(await errorCode { for try await _ in failing {} } == .sourceChanged)
                let stopped = lfs.downloadProgress(of: file.id)
                try await lfs.stop()
                #expect(await errorCode { for try await _ in stopped {} } == .notRunning)
                return file
            }
            let words = told.compactMap { event -> String? in
                switch event {
                case .downloading(file.id, let progress):
                    progress.totalBytes == file.byteCount && progress.bytesTransferred <= file.byteCount
                        ? "downloading" : "wrong"
                case .downloaded(file.id, let count): count == file.byteCount ? "downloaded" : "wrong"
                case .downloadFailed(file.id, let error): "failed: \(error.code)"
                default: nil
                }
            }
            #expect(words.filter { $0 != "downloading" } == ["downloaded", "failed: sourceChanged"])
            #expect(words.contains("downloading"))
            // Progress is reported at most about ten times a second, at least once for each of the two downloads, and
            // not for each chunk.
            #expect(words.count { $0 == "downloading" } >= 2)
        }
    }

    private func collect(
        _ host: TestHost, _ body: @escaping @Sendable (LFSManager) async throws -> FileData
    ) async throws -> (FileData, [LFSEvent]) {
        let lfs = try await LFSManager.open(host.database, options: host.options)
        let stream = lfs.events(bufferingPolicy: .unbounded)
        try lfs.start()
        let result: Result<FileData, any Error>
        do { result = .success(try await body(lfs)) } catch { result = .failure(error) }
        try await lfs.stop()
        var told: [LFSEvent] = []
        for await event in stream { told.append(event) }
        return (try result.get(), told)
    }
}
