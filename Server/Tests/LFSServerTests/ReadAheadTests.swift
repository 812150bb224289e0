import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import LFSServer

@Suite("Read-ahead", .timeLimit(.minutes(10)))
struct ReadAheadTests {
    /// A log of ten pieces, which records how many were requested before each write.
    private final class Story: Sendable {
        private let state = Mutex((asked: 0, atWrite: [Int](), written: [UInt8]()))

        func ask() -> Int {
            state.withLock { state in
                state.asked += 1; return state.asked
            }
        }
        var asked: Int { state.withLock(\.asked) }
        var atWrite: [Int] { state.withLock(\.atWrite) }
        var written: [UInt8] { state.withLock(\.written) }
        func write(_ bytes: [UInt8]) {
            state.withLock { state in
                state.atWrite.append(state.asked)
                state.written += bytes
            }
        }
    }

    private struct Pieces: AsyncSequence, Sendable {
        let story: Story
        var failsAt = Int.max

        struct Iterator: AsyncIteratorProtocol, Sendable {
            let pieces: Pieces
            var count = 0

            mutating func next() async throws -> [UInt8]? {
                let number = pieces.story.ask()
                if number == pieces.failsAt { throw Broken() }
                count += 1
                return count > 10 ? nil : [UInt8(count)]
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }
    }

    private struct Broken: Error {}

    /// Writes a piece only after the next one was requested, or immediately if `isAwaiting` is false.
    private struct Writer: ResponseBodyWriter {
        let story: Story
        let isAwaiting: Bool

        mutating func write(_ buffer: ByteBuffer) async throws {
            let bytes = Array(buffer.readableBytesView)
            // The first piece is written before the socket is known to be fast.
            while isAwaiting, bytes != [1], story.asked == Int(bytes[0]) {
                try Task.checkCancellation()
                await Task.yield()
            }
            if !isAwaiting { for _ in 0..<100 { await Task.yield() } }
            story.write(bytes)
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    @Test("For a fast socket, the next piece is read during the write")
    func quick() async throws {
        let story = Story()
        var writer: any ResponseBodyWriter = Writer(story: story, isAwaiting: true)
        try await Pieces(story: story).write(to: &writer, quick: .seconds(3_600)) { $0 }
        #expect(story.written == Array(1...10))
        #expect(story.asked == 11)
    }

    @Test("For a slow socket, no piece is read ahead")
    func slow() async throws {
        let story = Story()
        var writer: any ResponseBodyWriter = Writer(story: story, isAwaiting: false)
        try await Pieces(story: story).write(to: &writer, quick: .zero) { $0 }
        #expect(story.written == Array(1...10))
        #expect(story.atWrite == Array(1...10))
    }

    @Test("A failed read-ahead fails after the previous piece was written")
    func failure() async throws {
        let story = Story()
        var writer: any ResponseBodyWriter = Writer(story: story, isAwaiting: true)
        await #expect(throws: Broken.self) {
            try await Pieces(story: story, failsAt: 5).write(to: &writer, quick: .seconds(3_600)) { $0 }
        }
        #expect(story.written == Array(1...4))
    }
}
