import Crypto
import Foundation

/// The values of a key over time, the present one first, and none twice in a row: what counts are the bytes that the
/// serializer makes of them.
///
/// Of values that follow each other faster than they are taken, only the last one comes. The sequence ends when the
/// task is cancelled or the router is stopped, and with an error when the value cannot be read.
public struct SettingValues<Value: Sendable>: AsyncSequence, Sendable {
    /// A value with what tells it from others.
    struct Reading: Sendable {
        /// What is stored, or would be for the key's default; nil for neither.
        let content: SerializedValue?
        let value: Value
    }

    let subscribe: @Sendable () -> Subscription
    let read: @Sendable () async throws -> Reading

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscribe(), read: read) }

    /// Waits for the next value.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription
        private let read: @Sendable () async throws -> Reading
        /// A hash of what came last, so that no secret stays in memory for it; nil before the first value.
        private var last: SHA256.Digest??

        init(subscription: Subscription, read: @escaping @Sendable () async throws -> Reading) {
            (self.subscription, self.read) = (subscription, read)
        }

        /// The next value; nil at the end.
        ///
        /// - Throws: as ``StorageRouter/get(_:)``.
        public mutating func next() async throws -> Value? {
            if last != nil, await !subscription.wait() { return nil }
            while !subscription.isOver {
                let reading = try await read()
                let digest = reading.content.map(Self.digest)
                if last != .some(digest) {
                    last = .some(digest)
                    return reading.value
                }
                if await !subscription.wait() { return nil }
            }
            return nil
        }

        private static func digest(_ content: SerializedValue) -> SHA256.Digest {
            var function = SHA256()
            function.update(data: Data("\(content.serializer)/\(content.version)/".utf8))
            function.update(data: content.bytes)
            return function.finalize()
        }
    }
}
