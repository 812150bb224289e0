import Foundation
import LFSSettings
import Synchronization

/// A transport that wraps another one and injects random faults. It loses states, delivers them twice, late or in
/// another order, and fails.
///
/// One mutex owns its state.
final class UnreliableTransport: CompanionTransport {
    private struct State {
        var random: any RandomNumberGenerator & Sendable
        var isSound = false
        /// The last states of each device. The newest one is last.
        var earlier: [String: [CompanionState]] = [:]

        mutating func next(below count: Int) -> Int { Int(random.next(upperBound: UInt64(count))) }
    }

    /// The error of a call that fails on purpose.
    struct Failure: LocalizedError {
        /// A message for the log of a test.
        var errorDescription: String? { "The transport failed, as the test requested." }
    }

    private enum Publication {
        case goes, isLost, fails
    }

    private static let rememberedCount = 4

    /// The wrapped transport. Tests can call it directly to avoid the faults.
    let base: any CompanionTransport
    private let state: Mutex<State>

    /// Wraps a transport with faults.
    ///
    /// - Parameters:
    ///   - base: the transport to wrap.
    ///   - random: determines the faults. The same calls with the same numbers get the same faults, so a seeded
    ///     generator makes a failure reproducible.
    init(
        _ base: any CompanionTransport,
        random: some RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.base = base
        state = Mutex(State(random: random))
    }

    /// The name of the wrapped transport.
    var name: String { base.name }
    /// The limits of the wrapped transport.
    var limits: CompanionLimits { base.limits }
    /// The value of the wrapped transport.
    var isConfidential: Bool { base.isConfidential }

    /// Disables all faults from now on.
    func heal() { state.withLock { $0.isSound = true } }

    /// Forwards the state, loses it silently, or fails.
    ///
    /// - Throws: ``Failure``. Errors of the wrapped transport.
    func publish(_ new: CompanionState) async throws {
        let fate: Publication = state.withLock { state in
            if state.isSound { return .goes }
            switch state.next(below: 8) {
            case 0: return .isLost
            case 1: return .fails
            default: return .goes
            }
        }
        switch fate {
        case .goes: try await base.publish(new)
        case .isLost: return
        case .fails: throw Failure()
        }
    }

    /// Passes on current and earlier states of the wrapped transport in any order, some twice and some not at all.
    ///
    /// - Throws: ``Failure``. Errors of the wrapped transport and of `take`.
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        if state.withLock({ $0.isSound }) { return try await base.states(for: query, take) }
        let found = Mutex<[CompanionReading]>([])
        try await base.states(for: query) { reading in found.withLock { $0.append(reading) } }
        let (readings, fails) = state.withLock { state in
            (Self.disturbed(found.withLock { $0 }, state: &state), state.next(below: 10) == 0)
        }
        for reading in readings { try await take(reading) }
        // The failure may follow after some states were passed on.
        if fails { throw Failure() }
    }

    private static func disturbed(_ readings: [CompanionReading], state: inout State) -> [CompanionReading] {
        var disturbed: [CompanionReading] = []
        for reading in readings {
            guard case .state(let new, _) = reading else {
                disturbed.append(reading)
                continue
            }
            var earlier = state.earlier[new.device] ?? []
            if earlier.last != new { earlier.append(new) }
            earlier = earlier.suffix(rememberedCount)
            state.earlier[new.device] = earlier
            let old = earlier[state.next(below: earlier.count)]
            switch state.next(below: 5) {
            case 0: continue
            case 1: disturbed.append(.state(old))
            case 2: disturbed += [reading, .state(old)]
            case 3: disturbed += [reading, reading]
            default: disturbed.append(reading)
            }
        }
        for index in disturbed.indices.dropLast() {
            disturbed.swapAt(index, index + state.next(below: disturbed.count - index))
        }
        return disturbed
    }

    /// The changes of the wrapped transport.
    func changes() -> AsyncStream<Void> { base.changes() }
}
