import Synchronization

/// A value that is asked for once and then kept.
///
/// Owner of the value: the mutex. What is asked does not ask for it again.
final class Once<Value: Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)
    private let ask: @Sendable () -> Value

    init(_ ask: @escaping @Sendable () -> Value) { self.ask = ask }

    var value: Value {
        kept.withLock { kept in
            if let kept { return kept }
            let value = ask()
            kept = value
            return value
        }
    }
}
