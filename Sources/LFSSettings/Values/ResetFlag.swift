import LFSSystem
import Synchronization

/// Whether a reset may have been committed whose files and secrets are still to go.
///
/// It is raised by a commit that touches the state, and by any change that another process has made; who then reads or
/// writes beside the database first finishes the reset, or waits for who does.
///
/// Owner of the counts: one mutex, which nothing is called under.
final class ResetFlag: Sendable {
    private struct State {
        var raised = 1
        var finished = 0
        var work: (@Sendable () async throws -> Void)?
    }

    private let state = Mutex(State())
    private let turns = Permits(1)

    /// - Parameter body: finishes a reset if one is noted.
    func finishes(with body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.work = body } }

    func raise() { state.withLock { $0.raised += 1 } }

    func finish() async throws {
        if state.withLock({ $0.finished == $0.raised }) { return }
        try await turns.withPermit {
            let (target, isDone, work) = state.withLock { ($0.raised, $0.finished == $0.raised, $0.work) }
            if isDone { return }
            try await work?()
            state.withLock { $0.finished = target }
        }
    }
}

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
