import Synchronization

/// A box that carries a value out of a closure which runs elsewhere, such as a transaction or a receiver of bytes.
///
/// One mutex owns the value.
package final class ResultBox<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    package init() {}

    /// The value, or nil while the closure has provided none.
    package var value: Value? { state.withLock { $0 } }

    package func put(_ new: Value) { state.withLock { $0 = new } }
}
