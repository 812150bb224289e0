import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Sources without an end", .timeLimit(.minutes(10)))
struct SourceTests {
    @Test("Idle pipes do not block other files, and cancelling their task ends them")
    func idlePipes() async throws {
        try await withLFS { host, lfs in
            let pipes = (0..<20).map { _ in Pipe() }
            let codes = try await withThrowingTaskGroup(of: LFSError.Code?.self) { group in
                for pipe in pipes {
                    group.addTask {
                        await errorCode { _ = try await lfs.makeFile(from: .handle(pipe.fileHandleForReading)) }
                    }
                }
                try await yield(while: (try? host.temporaryCount()) != 20)
                let other = await errorCode {
                    let file = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try file.insert($0) }
                    try await lfs.waitForUploads()
                }
                #expect(other == nil)
                group.cancelAll()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == Array(repeating: LFSError.Code.cancelled, count: 20))
        }
    }

    @Test("A cancelled stream of chunks does not count as complete")
    func cancelledStream() async throws {
        try await withLFS { host, lfs in
            let (chunks, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(someBytes(1 << 20))
            let progress = Heard<Int64>()
            let task = Task {
                await errorCode { _ = try await lfs.makeFile(from: .chunks(chunks)) { progress.add($0) } }
            }
            try await yield(while: progress.values.isEmpty)
            task.cancel()
            #expect(await task.value == .cancelled)
            try #expect(host.temporaryCount() == 0)
        }
    }

    @Test("A pipe is read to its end, and its handle stays open")
    func pipe() async throws {
        try await withLFS(expectsLeftovers: true) { _, lfs in
            let pipe = Pipe()
            let bytes = someBytes(5_000)
            try pipe.fileHandleForWriting.write(contentsOf: bytes)
            try pipe.fileHandleForWriting.close()
            let file = try await lfs.makeFile(from: .handle(pipe.fileHandleForReading))
            #expect(try await read(file, lfs: lfs) == bytes)
            #expect(fcntl(pipe.fileHandleForReading.fileDescriptor, F_GETFD) != -1)
        }
    }
}

extension TestHost {
    func temporaryCount() throws -> Int { try filesInTemporary().count }
}
