public import LFSSettings
import Synchronization

/// A transport around a sound one that loses states, hands them out twice, late and in another order, and fails, as
/// numbers say.
///
/// Owner of what it remembers: one mutex.
public final class UnreliableTransport: CompanionTransport {
    private struct State {
        var random: any RandomNumberGenerator & Sendable
        var isSound = false
        /// The last states of each device, the newest last.
        var earlier: [String: [CompanionState]] = [:]

        mutating func next(below count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    }

    private enum Publication {
        case goes, isLost, fails
    }

    private static let rememberedCount = 4

    /// The transport below, which is sound.
    public let base: any CompanionTransport
    private let state: Mutex<State>

    /// Puts the faults before a transport.
    ///
    /// - Parameters:
    ///   - base: the transport below.
    ///   - random: what happens; the same calls with the same numbers meet the same faults, so one that goes by a seed
    ///     lets a failure be repeated.
    public init(
        _ base: any CompanionTransport,
        random: some RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.base = base
        state = Mutex(State(random: random))
    }

    /// That of the transport below.
    public var name: String { base.name }
    /// Those of the transport below.
    public var limits: CompanionLimits { base.limits }
    /// As the transport below.
    public var isConfidential: Bool { base.isConfidential }

    /// From now on it passes everything on as it is.
    public func heal() { state.withLock { $0.isSound = true } }

    /// Passes the state on, loses it without a word, or fails.
    ///
    /// - Throws: ``Failure``; what the transport below throws.
    public func publish(_ new: CompanionState) async throws {
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

    /// Hands out states that the transport below has, or had before, in any order, some twice and some not at all.
    ///
    /// - Throws: ``Failure``; what the transport below and `take` throw.
    public func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        if state.withLock({ $0.isSound }) { return try await base.states(for: query, take) }
        let found = Mutex<[CompanionReading]>([])
        try await base.states(for: query) { reading in found.withLock { $0.append(reading) } }
        let (readings, fails) = state.withLock { state in
            (Self.disturbed(found.withLock { $0 }, &state), state.next(below: 10) == 0)
        }
        for reading in readings { try await take(reading) }
        // Also after some were taken.
        if fails { throw Failure() }
    }

    private static func disturbed(_ readings: [CompanionReading], _ state: inout State) -> [CompanionReading] {
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

    /// Those of the transport below.
    public func changes() -> AsyncStream<Void> { base.changes() }
}
