import Foundation
import GRDB
import LFSStorage
import LFSTesting
import LFSTransfer
import TestSupport
import Testing

@testable import LFS

@Suite("Deleting a file whose upload waits in memory", .timeLimit(.minutes(10)))
struct WaitingUploadTests {
    enum Reason: CaseIterable { case paused, away }

    @Test("does not wait for the upload, which may not come for long", arguments: Reason.allCases)
    func deletion(reason: Reason) async throws {
        let storage = ScriptedStorage(beforeUpload: { _, _ in
            if reason == .away { throw StorageError(.unreachable, "No network.") }
        })
        let patient = Backoff(base: .seconds(60), cap: .seconds(60))
        try await withLFS(storage: storage, configure: { $0.backoff = patient }) { host, lfs in
            if reason == .paused { lfs.pause() }
            var files: [FileData] = []
            for _ in 0..<3 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
            let made = files
            try await host.database.write { db in for file in made { try file.insert(db) } }
            try await yield(while: lfs.pool.isIdle || host.filesInStore().count < 3)
            try await host.database.write { db in _ = try FileData.deleteAll(db) }
            // A storage that is away is asked again by a deletion then, for no upload is left to do it.
            try await yield(while: lfs.pool.heldCount > 0)
            lfs.resume()
            try await yield(while: host.count("lfs_tombstone") > 0)
            #expect(try host.filesInStore().isEmpty)
            #expect(storage.memory.keys.isEmpty)
            try await yield(while: !lfs.pool.isIdle)
        }
    }
}
