import Foundation
import LFSSystem
import Synchronization

/// The loads and stores in progress. Each key has at most one load at a time, and content loaded before a removal is
/// not kept. A general single flight cannot serve it, because removals and stores of the app change running loads.
///
/// A flight is one such operation. It looks on the disk, then loads, then writes. A removal increments
/// ``State/generation`` before and after it deletes rows, and a store increments the counter of its key. A reader that
/// sees another number reads its row again. A removal also marks loading or writing flights as stale: their waiting
/// tasks get the content, but it is not kept. Later requests start a flight of their own.
///
/// One mutex owns all state. Memory is filled while it is held, so that a removal comes entirely before or after it.
final class InFlightLoads: Sendable {
    typealias ID = Int

    /// The message of a flight to a task that waits for it.
    enum Signal: Sendable {
        case content(Data)
        case failed(any Error)
        /// The leading task was cancelled, so this task leads the flight now.
        case lead
        /// The waiting task was cancelled.
        case left
    }

    /// The result of a request for a key.
    enum Place: Sendable {
        case content(Data)
        case lead(ID)
        case wait(ID, Waiter<Signal>)
    }

    /// The result of a lookup before the disk is read.
    enum Lookup: Sendable {
        case content(Data)
        case read(at: Generation)
    }

    /// The number of removals, and of stores of the key.
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

    private struct Load {
        let key: CacheKey
        var tags: Set<CacheTag>
        var phase: Phase
        var isStale = false
        /// The number of removals by other openings when the disk was read for this flight. Nil if it was not read.
        var removalsElsewhere: Int64?
        var waiting: [Waiter<Signal>] = []
    }

    private struct State {
        /// The number of removals. Each one counts twice.
        var generation: UInt64 = 0
        /// The number of stores by hash of the key. Keys may share a counter: a reader of the other key then reads
        /// again, which is rare.
        var stores = [UInt64](repeating: 0, count: 1_024)
        var lastID = 0
        var flights: [ID: Load] = [:]
        /// The flight of each key that other tasks may join.
        var current: [CacheKey: ID] = [:]

        func now(_ key: CacheKey) -> Generation {
            Generation(key: key, removals: generation, stores: stores[Self.place(key)])
        }

        mutating func countStore(_ key: CacheKey) { stores[Self.place(key)] += 1 }

        private static func place(_ key: CacheKey) -> Int { key.hashValue & 1_023 }

        mutating func begin(_ flight: Load) -> ID {
            lastID += 1
            flights[lastID] = flight
            return lastID
        }

        mutating func detach(_ id: ID) {
            guard let key = flights[id]?.key, current[key] == id else { return }
            current[key] = nil
        }

        mutating func end(_ id: ID) -> [Waiter<Signal>] {
            detach(id)
            return flights.removeValue(forKey: id)?.waiting ?? []
        }
    }

    private let state = Mutex(State())

    /// The number of flights in progress.
    var count: Int { state.withLock { $0.flights.count } }

    /// Returns the number of tasks that wait for the load of a key.
    func waitingCount(_ key: CacheKey) -> Int {
        state.withLock { state in state.current[key].flatMap { state.flights[$0]?.waiting.count } ?? 0 }
    }

    // MARK: Joining

    /// - Parameter memory: looks in memory, where a flight that has just ended may have put the content.
    func join(_ key: CacheKey, tags: Set<CacheTag>, memory: () -> Data?) -> Place {
        state.withLock { state in
            if let content = memory() { return .content(content) }
            guard let id = state.current[key], var flight = state.flights[id] else {
                let id = state.begin(Load(key: key, tags: tags, phase: .reading))
                state.current[key] = id
                return .lead(id)
            }
            // The disk may still hold an older content.
            if case .writing(let content) = flight.phase { return .content(content) }
            let waiter = Waiter<Signal>()
            flight.tags.formUnion(tags)
            flight.waiting.append(waiter)
            state.flights[id] = flight
            return .wait(id, waiter)
        }
    }

    /// Removes a cancelled task from the waiting tasks. If the task already has its result, it keeps it.
    func leave(_ id: ID, waiter: Waiter<Signal>) {
        let wasInLine = state.withLock { state in
            guard let index = state.flights[id]?.waiting.firstIndex(where: { $0 === waiter }) else { return false }
            state.flights[id]?.waiting.remove(at: index)
            return true
        }
        if wasInLine { waiter.resume(returning: .left) }
    }

    // MARK: Leading

    /// Returns true if the flight has not read the disk yet.
    func isReading(_ id: ID) -> Bool { state.withLock { $0.flights[id]?.phase.isReading == true } }

    /// Returns the content if it is available without the disk. Otherwise returns the generation at which to read the
    /// disk.
    func look(_ key: CacheKey, memory: () -> Data?) -> Lookup {
        state.withLock { state in
            if let content = memory() { return .content(content) }
            if let id = state.current[key], case .writing(let content) = state.flights[id]?.phase {
                return .content(content)
            }
            return .read(at: state.now(key))
        }
    }

    /// Runs the body, which puts content from the disk into memory, unless a removal or a store of the key has happened
    /// since the generation.
    func fill(readAt generation: Generation, _ body: () -> Void) -> Bool {
        state.withLock { state in
            guard state.now(generation.key) == generation else { return false }
            body()
            return true
        }
    }

    /// Ends a flight with content from memory or the disk, and passes it to all waiting tasks.
    func land(_ id: ID, content: Data) {
        for waiter in state.withLock({ $0.end(id) }) { waiter.resume(returning: .content(content)) }
    }

    /// Marks the flight as loading, because the disk has no entry. Later removals make it stale.
    ///
    /// - Parameter removalsElsewhere: the number of removals by other openings up to now. Nil if the disk could not be
    ///   read.
    func beginLoading(_ id: ID, removalsElsewhere: Int64?) {
        state.withLock { state in
            state.flights[id]?.phase = .loading
            state.flights[id]?.removalsElsewhere = removalsElsewhere
        }
    }

    /// Returns the number of removals by other openings when the disk was read for a flight.
    func removalsElsewhere(_ id: ID) -> Int64? { state.withLock { $0.flights[id]?.removalsElsewhere } }

    /// Passes the content to all waiting tasks.
    ///
    /// - Parameter fill: puts the content into memory with the tags of all requests. Called only if the content may be
    ///   kept.
    /// - Returns: the tags. Nil when the content must not be kept, in which case the flight has ended.
    func loaded(_ id: ID, content: Data, fill: (Set<CacheTag>) -> Void) -> Set<CacheTag>? {
        let (waiting, tags) = state.withLock { state -> ([Waiter<Signal>], Set<CacheTag>?) in
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

    /// Returns true if the content that a flight writes may be kept. It is called within the writing transaction, so
    /// the transaction of a later removal follows this one.
    func mayKeep(_ id: ID) -> Bool { state.withLock { $0.flights[id]?.isStale == false } }

    /// Ends a flight that has written its content.
    func end(_ id: ID) {
        let waiting = state.withLock { $0.end(id) }
        precondition(waiting.isEmpty, "A flight that has its content has no waiting tasks.")
    }

    /// Ends a flight whose load has failed, and passes the error to all waiting tasks.
    func fail(_ id: ID, error: any Error) {
        for waiter in state.withLock({ $0.end(id) }) { waiter.resume(returning: .failed(error)) }
    }

    /// Passes a flight whose leader was cancelled to the task that has waited longest, if there is one.
    func handOver(_ id: ID) {
        let next = state.withLock { state -> Waiter<Signal>? in
            guard state.flights[id]?.waiting.isEmpty == false else {
                _ = state.end(id)
                return nil
            }
            return state.flights[id]?.waiting.removeFirst()
        }
        next?.resume(returning: .lead)
    }

    // MARK: Storing and removing

    /// Starts a write of content that the app provides. Flights that load or write the same key are older, so their
    /// content is not kept.
    func beginStore(_ key: CacheKey, tags: Set<CacheTag>, content: Data, fill: () -> Void) -> ID {
        state.withLock { state in
            // A task that is reading the key from the disk would return the replaced content.
            state.countStore(key)
            for (id, flight) in state.flights where flight.key == key && !flight.phase.isReading {
                state.detach(id)
                state.flights[id]?.isStale = true
            }
            fill()
            let id = state.begin(Load(key: key, tags: tags, phase: .writing(content)))
            // Until the rows are written, requests get the content from this flight.
            state.current[key] = id
            return id
        }
    }

    /// Call this before rows are deleted. Flights in progress that match the selection count as removed.
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

    /// Call this after rows are deleted. Tasks that have read them before read again.
    func endRemoval() { state.withLock { $0.generation += 1 } }
}
