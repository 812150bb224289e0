import Synchronization

/// A value that pages show, with streams that report its changes.
///
/// The mutex owns the value and the streams. Streams are informed outside of it.
final class Watched<Value: Equatable & Sendable>: Sendable {
    private struct Owned {
        var value: Value
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
        var next = 0
    }

    private let owned: Mutex<Owned>

    init(_ value: Value) { owned = Mutex(Owned(value: value)) }

    var value: Value { owned.withLock { $0.value } }

    /// - Returns: true if the value has changed.
    @discardableResult func change(_ body: (inout Value) -> Void) -> Bool {
        let watchers = owned.withLock { owned -> [AsyncStream<Void>.Continuation]? in
            let before = owned.value
            body(&owned.value)
            return owned.value == before ? nil : Array(owned.watchers.values)
        }
        for watcher in watchers ?? [] { watcher.yield() }
        return watchers != nil
    }

    /// Returns a stream with an element after each change of the value, until its consumer ends.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = owned.withLock { owned in
            owned.next += 1
            owned.watchers[owned.next] = continuation
            return owned.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.owned.withLock { $0.watchers.removeValue(forKey: id) }
        }
        return stream
    }
}
