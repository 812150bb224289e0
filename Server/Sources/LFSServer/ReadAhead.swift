import Hummingbird
import NIOCore

extension AsyncSequence where Element == [UInt8], AsyncIterator: Sendable {
    /// Writes all pieces to a socket. After a fast write, the next piece is read during the next write. For a slow
    /// socket, no piece is read ahead, so the server holds only one piece.
    ///
    /// - Parameters:
    ///   - quick: the time below which a write counts as fast.
    ///   - encode: converts a piece to the bytes that are sent.
    @concurrent func write(
        to writer: inout any ResponseBodyWriter, quick: Duration = .milliseconds(20),
        _ encode: ([UInt8]) throws -> [UInt8]
    ) async throws {
        var pieces = makeAsyncIterator()
        var piece = try await pieces.next()
        var isQuick = false
        while let current = piece.take() {
            let began = ContinuousClock.now
            if isQuick {
                let reached = pieces
                async let following = Self.next(after: reached)
                try await writer.write(ByteBuffer(bytes: try encode(current)))
                isQuick = began.duration(to: .now) < quick
                (piece, pieces) = try await following
            } else {
                try await writer.write(ByteBuffer(bytes: try encode(current)))
                isQuick = began.duration(to: .now) < quick
                piece = try await pieces.next()
            }
        }
    }

    private static func next(after reached: AsyncIterator) async throws -> (Element?, AsyncIterator) {
        var pieces = reached
        return (try await pieces.next(), pieces)
    }
}
