import Foundation
import LFSSystem
import Synchronization

/// The loads and stores under way: one load of a key at a time, and none that is older than a removal is kept.
///
/// A flight looks on the disk, then loads, then writes. A removal counts up ``State/generation`` before and after it
/// takes rows away, so that who has read a row meanwhile reads again, and a store that of its key; and it marks flights
/// that load or write as stale, so that their content is given to those who wait and not kept. Who asks after that
/// begins a flight of its own.
///
/// Owner of all of it: one mutex. Memory is filled within it, so that a removal comes before or after as a whole.
final class Flights: Sendable {
    typealias ID = Int

    /// What a flight says to one that waits for it.
    enum Word: Sendable {
        case content(Data)
        case failed(any Error)
        /// Who led it was cancelled: it is this one's now.
        case lead
        /// The task that waits was cancelled.
        case left
    }

    /// What one gets who asks for a key.
    enum Place: Sendable {
        case content(Data)
        case lead(ID)
        case wait(ID, Waiter<Word>)
    }

    /// What one gets who reads the disk.
    enum Look: Sendable {
        case content(Data)
        case read(at: Generation)
    }

    /// How often something was removed, and the key was stored.
    struct Generation: Sendable, Equatable {
        fileprivate let key: CacheKey
        fileprivate let removals: UInt64
        fileprivate let stores: UInt64
    }

    private enum Phase {
        case reading
        case loading
        case writing(Data)

        var isReading: Bool {
            if case .reading = self { true } else { false }
        }
    }

    private struct Flight {
        let key: CacheKey
        var tags: Set<CacheTag>
        var phase: Phase
        var isStale = false
        /// What other processes had removed when the disk was read for it; nil when it was not.
        var removalsElsewhere: Int64?
        var waiting: [Waiter<Word>] = []
    }

    private struct State {
        /// Counts removals, twice each.
        var generation: UInt64 = 0
        /// Counts stores of keys, by their hashes: who reads another key with the same one reads again, and that is
        /// seldom.
        var stores = [UInt64](repeating: 0, count: 1_024)
        var lastID = 0
        var flights: [ID: Flight] = [:]
        /// The flight of a key that others may join.
        var current: [CacheKey: ID] = [:]

        func now(_ key: CacheKey) -> Generation {
            Generation(key: key, removals: generation, stores: stores[Self.place(key)])
        }

        mutating func countStore(_ key: CacheKey) { stores[Self.place(key)] += 1 }

        private static func place(_ key: CacheKey) -> Int { key.hashValue & 1_023 }

        mutating func begin(_ flight: Flight) -> ID {
            lastID += 1
            flights[lastID] = flight
            return lastID
        }

        mutating func detach(_ id: ID) {
            guard let key = flights[id]?.key, current[key] == id else { return }
            current[key] = nil
        }

        mutating func end(_ id: ID) -> [Waiter<Word>] {
            detach(id)
            return flights.removeValue(forKey: id)?.waiting ?? []
        }
    }

    private let state = Mutex(State())

    /// How many are under way.
    var count: Int { state.withLock { $0.flights.count } }

    /// How many tasks wait for the load of a key.
    func waitingCount(_ key: CacheKey) -> Int {
        state.withLock { state in state.current[key].flatMap { state.flights[$0]?.waiting.count } ?? 0 }
    }

    // MARK: Joining

    /// - Parameter memory: looks in memory, where a flight may have put the content that has ended just now.
    func join(_ key: CacheKey, tags: Set<CacheTag>, memory: () -> Data?) -> Place {
        state.withLock { state in
            if let content = memory() { return .content(content) }
            guard let id = state.current[key], var flight = state.flights[id] else {
                let id = state.begin(Flight(key: key, tags: tags, phase: .reading))
                state.current[key] = id
                return .lead(id)
            }
            // The disk may have an older one still.
            if case .writing(let content) = flight.phase { return .content(content) }
            let waiter = Waiter<Word>()
            flight.tags.formUnion(tags)
            flight.waiting.append(waiter)
            state.flights[id] = flight
            return .wait(id, waiter)
        }
    }

    /// Takes a cancelled task out of the line. One that has its word already keeps it.
    func leave(_ id: ID, _ waiter: Waiter<Word>) {
        let wasInLine = state.withLock { state in
            guard let index = state.flights[id]?.waiting.firstIndex(where: { $0 === waiter }) else { return false }
            state.flights[id]?.waiting.remove(at: index)
            return true
        }
        if wasInLine { waiter.resume(returning: .left) }
    }

    // MARK: Leading

    /// Whether the flight has yet to look on the disk.
    func isReading(_ id: ID) -> Bool { state.withLock { $0.flights[id]?.phase.isReading == true } }

    /// What there is without the disk, or else the generation at which to read that.
    func look(_ key: CacheKey, memory: () -> Data?) -> Look {
        state.withLock { state in
            if let content = memory() { return .content(content) }
            if let id = state.current[key], case .writing(let content) = state.flights[id]?.phase {
                return .content(content)
            }
            return .read(at: state.now(key))
        }
    }

    /// Runs the body if nothing was removed, and the key not stored, since the generation; it puts into memory what was
    /// read.
    func fill(readAt generation: Generation, _ body: () -> Void) -> Bool {
        state.withLock { state in
            guard state.now(generation.key) == generation else { return false }
            body()
            return true
        }
    }

    /// Ends a flight with what is in memory or on the disk, for all who wait.
    func land(_ id: ID, _ content: Data) {
        for waiter in state.withLock({ $0.end(id) }) { waiter.resume(returning: .content(content)) }
    }

    /// The disk has nothing, so what is removed from now on counts for this load.
    ///
    /// - Parameter removalsElsewhere: what other processes had removed by then; nil when the disk could not be read.
    func beginLoading(_ id: ID, removalsElsewhere: Int64?) {
        state.withLock { state in
            state.flights[id]?.phase = .loading
            state.flights[id]?.removalsElsewhere = removalsElsewhere
        }
    }

    /// What other processes had removed when the disk was read for a flight.
    func removalsElsewhere(_ id: ID) -> Int64? { state.withLock { $0.flights[id]?.removalsElsewhere } }

    /// Gives the content to all who wait.
    ///
    /// - Parameter fill: puts it into memory, if it may be kept, with the tags of all who have asked.
    /// - Returns: the tags; nil when the content is not to be kept, and then the flight has ended.
    func loaded(_ id: ID, _ content: Data, fill: (Set<CacheTag>) -> Void) -> Set<CacheTag>? {
        let (waiting, tags) = state.withLock { state -> ([Waiter<Word>], Set<CacheTag>?) in
            guard var flight = state.flights[id], !flight.isStale else { return (state.end(id), nil) }
            fill(flight.tags)
            let waiting = flight.waiting
            flight.waiting = []
            flight.phase = .writing(content)
            state.flights[id] = flight
            return (waiting, flight.tags)
        }
        for waiter in waiting { waiter.resume(returning: .content(content)) }
        return tags
    }

    /// Whether what a flight writes may be kept. Asked within the transaction that writes: a removal that comes after
    /// the answer has its own transaction after this one.
    func mayKeep(_ id: ID) -> Bool { state.withLock { $0.flights[id]?.isStale == false } }

    /// Ends a flight that has written.
    func end(_ id: ID) {
        let waiting = state.withLock { $0.end(id) }
        precondition(waiting.isEmpty, "Nobody waits for a flight that has its content.")
    }

    /// Ends a flight whose load has failed, for all who wait.
    func fail(_ id: ID, _ error: any Error) {
        for waiter in state.withLock({ $0.end(id) }) { waiter.resume(returning: .failed(error)) }
    }

    /// Gives a flight whose leader was cancelled to the one that has waited longest, if there is one.
    func handOver(_ id: ID) {
        let next = state.withLock { state -> Waiter<Word>? in
            guard state.flights[id]?.waiting.isEmpty == false else {
                _ = state.end(id)
                return nil
            }
            return state.flights[id]?.waiting.removeFirst()
        }
        next?.resume(returning: .lead)
    }

    // MARK: Storing and removing

    /// Begins to write what the app gives. What loads or writes the same key is older, and is not kept.
    func beginStore(_ key: CacheKey, tags: Set<CacheTag>, _ content: Data, fill: () -> Void) -> ID {
        state.withLock { state in
            // Who reads the key from the disk now would give back what this replaces.
            state.countStore(key)
            for (id, flight) in state.flights where flight.key == key && !flight.phase.isReading {
                state.detach(id)
                state.flights[id]?.isStale = true
            }
            fill()
            let id = state.begin(Flight(key: key, tags: tags, phase: .writing(content)))
            // Until the rows are written, who asks gets it from here.
            state.current[key] = id
            return id
        }
    }

    /// To be called before rows are taken away: what is under way counts as removed.
    func beginRemoval(_ selection: Selection) {
        state.withLock { state in
            state.generation += 1
            for (id, flight) in state.flights where selection.contains(flight.key, tags: flight.tags) {
                if flight.phase.isReading { continue }
                state.detach(id)
                state.flights[id]?.isStale = true
            }
        }
    }

    /// To be called when the rows are gone: who has read them before reads again.
    func endRemoval() { state.withLock { $0.generation += 1 } }
}
