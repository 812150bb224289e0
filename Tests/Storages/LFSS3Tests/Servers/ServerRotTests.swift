import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

/// Tests in which a byte in the server's own files changes.
@Suite("Damaged objects on a server", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerRotTests {
    private func verify(
        _ host: ReadingHost, repairs: Bool = false, reads: Bool = false
    ) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        try await host.lfs.verified { ($0.checksContent, $0.repairs, $0.readsRemote) = (true, repairs, reads) }
    }

    private func withHost(
        _ server: TestServer, _ body: (ReadingHost) async throws -> Void
    ) async throws {
        let storage = try await server.storage {
            $0.multipartThreshold = 6 << 20
            $0.partSize = 5 << 20
        }
        try await withTemporaryFolder { folder in try await ReadingHost.with(folder, storage: storage, body) }
        await storage.shutdown()
    }

    @Test(
        "A damaged object is found by reading it and repaired from good bytes", arguments: TestServer.rotting,
        [100_000, 12 << 20])
    func withoutLocalCopy(_ server: TestServer, byteCount: Int) async throws {
        try await withHost(server) { host in
            let bytes = SampleBytes.make(byteCount, seed: .random(in: 0...UInt64.max))
            let file = try await host.remoteFiles([bytes, SampleBytes.make(1_000)])[0]
            try server.flip(bytes)
            await #expect(throws: LFSError.self) { try await host.read(file) }
            for _ in 1...2 {
                let found = try await verify(host, reads: true)
                #expect(found.findings.map(\.fileID) == [file.id], "\(found.findings)")
                #expect(!found.report.isClean)
            }
            let again = try await verify(host)
            #expect(again.findings.map(\.fileID) == [file.id], "the recorded damage is kept")
            #expect(again.report.lostBytes == Int64(byteCount))

            let local = host.folder.child("app.sqlite.lfs").child(file.id.uuidString)
            try Data(bytes).write(to: local)
            #expect(try await host.lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 0)
            let mended = try await verify(host, repairs: true)
            #expect(mended.findings.map(\.repair) == [.upload])
            try await host.lfs.waitForUploads()
            try await #expect(verify(host, reads: true).findings == [])
            #expect(try await host.lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 1)
            try await #expect(host.read(file) == bytes)
        }
    }

    @Test(
        "Verification finds a damaged object, and eviction keeps its local copy", arguments: TestServer.rotting,
        [100_000, 12 << 20])
    func withLocalCopy(_ server: TestServer, byteCount: Int) async throws {
        try await withHost(server) { host in
            let contents = (0..<3).map { _ in SampleBytes.make(byteCount, seed: .random(in: 0...UInt64.max)) }
            let files = try await host.keptFiles(contents)
            try await #expect(verify(host, reads: true).findings == [])
            try server.flip(contents[1])
            let found = try await verify(host, reads: true)
            #expect(found.findings.map(\.fileID) == [files[1].id], "\(found.findings)")
            #expect(try await host.lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 2)
            #expect(try host.kept == [files[1].id])
            try await #expect(verify(host, repairs: true).report.isClean)
            try await host.lfs.waitForUploads()
            #expect(try await host.lfs.evict(EvictionPolicy(maxByteCount: 0)).evicted.files == 1)
            for (file, bytes) in zip(files, contents) { try await #expect(host.read(file) == bytes) }
        }
    }
}

extension TestServer {
    /// The servers whose files a test can access.
    static let rotting = all.filter { $0.data != nil }

    /// Flips one bit in the middle of the stored bytes.
    fileprivate func flip(_ bytes: [UInt8]) throws {
        let folder = URL(fileURLWithPath: try #require(data))
        let middle = bytes.count / 2
        let needle = Data(bytes[middle..<middle + 64])
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let url = folder.appendingPathComponent(name)
            guard let range = try range(of: needle, in: url) else { continue }
            let file = try FileHandle(forUpdating: url)
            try file.seek(toOffset: UInt64(range.lowerBound))
            try file.write(contentsOf: [needle[0] ^ 1])
            try file.close()
            return
        }
        Issue.record("No file below \(folder.path) has the bytes.")
    }

    /// Returns nil also if the file has been deleted since, because other tests use the same server.
    private func range(of needle: Data, in url: URL) throws -> Range<Data.Index>? {
        do {
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return nil }
            return try Data(contentsOf: url, options: .mappedIfSafe).range(of: needle)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile || error.code == .fileNoSuchFile {
            return nil
        }
    }
}
