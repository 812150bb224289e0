import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests against real servers. One database offloads its files, and a copy of it reads them all back.
@Suite("Reads from a copy of the database", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ReadBackTests {
    private static let count = 1_000
    private static let readers = 8

    @Test("Concurrent readers get the right bytes, and each file is downloaded once", arguments: TestServer.all)
    func readBack(_ server: TestServer) async throws {
        let storage = try await server.storage()
        let contents = (0..<Self.count).map { SampleBytes.make(1_000 + $0 * 7, seed: UInt64($0) + 1) }
        try await withTemporaryFolder { folder in
            let (first, second) = (folder.child("first"), folder.child("second"))
            for folder in [first, second] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            let files = Sources()
            try await ReadingHost.with(first, storage: storage) { host in
                await files.set(try await host.remoteFiles(contents))
                #expect(try host.kept == [])
                let copy = second.child("app.sqlite").path
                try await host.database.vacuum(into: copy)
            }
            // This storage counts every request and cuts none.
            let counted = CuttingStorage(storage, after: 0, times: 0)
            let made = await files.files
            try await ReadingHost.with(second, storage: counted) { host in
                try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for (index, file) in made.enumerated() {
                        for _ in 0..<Self.readers {
                            tasks.addTask { try await host.read(file) == contents[index] ? 1 : 0 }
                        }
                    }
                    let equal = try await tasks.reduce(0, +)
                    #expect(equal == Self.count * Self.readers)
                }
                #expect(try host.kept.count == Self.count)
                #expect(try host.unfinished == [])
            }
            let keys = counted.requests.map(\.key.rawValue)
            #expect(keys.count == Self.count)
            #expect(Set(keys) == Set(made.map(\.key)))
            #expect(counted.requests.allSatisfy { $0.range == nil })
            #expect(counted.sentBytes == contents.reduce(0) { $0 + Int64($1.count) })
            print("read back \(keys.count) files with \(Self.readers) readers each from \(server.name)")
        }
        await storage.shutdown()
    }

    /// The files that are passed from one manager to the next. The actor owns them.
    private actor Sources {
        var files: [FileData] = []

        func set(_ files: [FileData]) { self.files = files }
    }
}
