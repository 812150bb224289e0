import Hummingbird
import NIOCore

extension AsyncSequence where Element == [UInt8], AsyncIterator: Sendable {
    /// Hands all pieces to a socket. While one that has taken the piece before at once takes this one, the next comes
    /// about already; for a slow one nothing is read ahead, so that it holds one piece.
    ///
    /// - Parameters:
    ///   - quick: what takes a piece faster is about to want the next.
    ///   - encode: makes of a piece what goes out.
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
