import Crypto
import Foundation

/// The values of a key over time, beginning with the current one. Equal values do not follow each other. Values are
/// equal if their serialized bytes are.
///
/// If values change faster than they are consumed, only the last one is delivered. The sequence ends when the task is
/// cancelled or the router is stopped, and with an error when the value cannot be read.
public struct SettingValues<Value: Sendable>: AsyncSequence, Sendable {
    struct Reading: Sendable {
        /// The stored content, or that of the key's default. Nil without both.
        let content: SerializedValue?
        let value: Value
    }

    let subscribe: @Sendable () -> Subscription
    let read: @Sendable () async throws -> Reading

    /// Starts an observation.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscribe(), read: read) }

    /// The iterator of a sequence of values.
    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription
        private let read: @Sendable () async throws -> Reading
        /// A hash of the last content, so that no secret stays in memory. Nil before the first value.
        private var last: SHA256.Digest??

        init(subscription: Subscription, read: @escaping @Sendable () async throws -> Reading) {
            self.subscription = subscription
            self.read = read
        }

        /// Waits for the next value. Returns nil at the end, also if the task is cancelled while a value is read.
        ///
        /// - Throws: the errors of ``StorageRouter/get(_:)``.
        public mutating func next() async throws -> Value? {
            if last != nil, await !subscription.wait() { return nil }
            while !subscription.isOver {
                let reading: Reading
                do {
                    reading = try await read()
                } catch is CancellationError where Task.isCancelled {
                    return nil
                }
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
