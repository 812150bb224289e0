import Foundation

/// A sequence whose second chunk waits until a gate is opened.
struct GatedChunks: AsyncSequence, Sendable {
    let first: Data
    private let arrived = AsyncStream<Void>.makeStream()
    private let gate = AsyncStream<Void>.makeStream()

    init(_ first: Data) { self.first = first }

    /// Returns when a reader has taken the first chunk and asks for the next one.
    func waitForReader() async { for await _ in arrived.stream { return } }

    /// Ends the sequence.
    func open() { gate.continuation.finish() }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    struct Iterator: AsyncIteratorProtocol {
        let chunks: GatedChunks
        var isFirst = true

        mutating func next() async throws -> Data? {
            if isFirst {
                isFirst = false
                return chunks.first
            }
            chunks.arrived.continuation.yield()
            for await _ in chunks.gate.stream {}
            return nil
        }
    }
}
