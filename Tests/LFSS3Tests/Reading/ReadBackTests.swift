import Foundation
import GRDB
import LFS
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// The whole way, against real servers: one database offloads, a second copy of it reads everything back.
@Suite("Files of another copy of the database", .enabled(if: TestServer.areThere), .timeLimit(.minutes(10)))
struct ReadBackTests {
    private static let count = 1_000
    private static let readers = 8

    @Test("come back byte by byte, each fetched once however many read it", arguments: TestServer.all)
    func readBack(_ server: TestServer) async throws {
        let storage = try await server.storage()
        let contents = (0..<Self.count).map { SampleBytes.make(1_000 + $0 * 7, seed: UInt64($0) + 1) }
        try await withTemporaryFolder { folder in
            let (first, second) = (folder.child("first"), folder.child("second"))
            for folder in [first, second] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            let files = Sources()
            try await ReadingHost.with(first, storage) { host in
                await files.set(try await host.remoteFiles(contents))
                #expect(try host.kept == [])
                let copy = second.child("app.sqlite").path
                try await host.database.vacuum(into: copy)
            }
            // Counts every request, and spoils none.
            let counted = CuttingStorage(storage, after: 0, times: 0)
            let made = await files.files
            try await ReadingHost.with(second, counted) { host in
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

    /// Carries the files from one manager to the next. Owner: the actor.
    private actor Sources {
        var files: [FileData] = []

        func set(_ files: [FileData]) { self.files = files }
    }
}
