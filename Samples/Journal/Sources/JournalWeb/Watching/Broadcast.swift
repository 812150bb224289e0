import Synchronization

/// Streams that all receive the same elements. A consumer that reads too slowly misses the oldest ones.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Owned {
        var streams: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
    }

    private let owned = Mutex(Owned())

    func send(_ element: Element) {
        // Streams are informed outside of the mutex.
        for stream in owned.withLock({ Array($0.streams.values) }) { stream.yield(element) }
    }

    /// Returns a stream of the elements from now on, until its consumer ends.
    ///
    /// - Parameter count: The number of elements that wait for a slow consumer.
    func stream(buffering count: Int) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(count))
        let id = owned.withLock { owned in
            owned.next += 1
            owned.streams[owned.next] = continuation
            return owned.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.owned.withLock { $0.streams.removeValue(forKey: id) }
        }
        return stream
    }
}
