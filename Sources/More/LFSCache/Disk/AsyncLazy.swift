import Synchronization

/// A value that is computed on first use and then kept.
///
/// The mutex owns the value. The closure must not read this value itself.
final class AsyncLazy<Value: Sendable>: Sendable {
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
