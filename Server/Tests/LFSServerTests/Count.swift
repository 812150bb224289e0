import Synchronization

/// A number of calls. The mutex owns it.
final class Count: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func add() { number.withLock { $0 += 1 } }
}
