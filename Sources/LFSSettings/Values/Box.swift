import Synchronization

/// Carries a value out of a closure.
final class Box<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func put(_ new: Value) { value.withLock { $0 = new } }

    func get() throws -> Value {
        guard let value = value.withLock({ $0 }) else {
            throw SettingsError(.system, "The change was not carried out.")
        }
        return value
    }
}
