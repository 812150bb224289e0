import Synchronization

/// A value that pages show, with streams that report its changes.
final class Watched<Value: Equatable & Sendable>: Sendable {
    private let owned: Mutex<Value>
    private let broadcast = Broadcast<Void>()

    init(_ value: Value) { owned = Mutex(value) }

    var value: Value { owned.withLock { $0 } }

    /// - Returns: true if the value has changed.
    @discardableResult func change(_ body: (inout Value) -> Void) -> Bool {
        let isChanged = owned.withLock { value in
            let before = value
            body(&value)
            return value != before
        }
        if isChanged { broadcast.send(()) }
        return isChanged
    }

    /// Returns a stream with an element after each change of the value, until its consumer ends.
    func changes() -> AsyncStream<Void> { broadcast.stream(buffering: 1) }
}
