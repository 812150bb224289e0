import TestSupport

@testable import LFSSystem

/// A common interface of a latch, a signal and permits.
enum Awaited: Sendable {
    case latch(Latch)
    case signal(Signal)
    case permits(AsyncSemaphore, count: Int)

    enum Kind: CaseIterable, Sendable {
        case latch, signal, permits
    }

    init(_ kind: Kind, permits count: Int) {
        switch kind {
        case .latch: self = .latch(Latch())
        case .signal: self = .signal(Signal())
        case .permits: self = .permits(AsyncSemaphore(count), count: count)
        }
    }

    var waiterCount: Int {
        switch self {
        case .latch(let latch): latch.waiterCount
        case .signal(let signal): signal.waiterCount
        case .permits(let permits, _): permits.waiterCount
        }
    }

    /// Opens the latch, notifies the signal or releases a permit.
    func wake() {
        switch self {
        case .latch(let latch): latch.open()
        case .signal(let signal): signal.notify()
        case .permits(let permits, _): permits.release()
        }
    }

    /// Returns true unless the wait was cancelled. Only permits report a cancellation.
    func wait(_ way: WaitingModel.Way) async -> Bool {
        switch (self, way) {
        case (.latch(let latch), .throughCancellation): await latch.waitThroughCancellation()
        case (.latch(let latch), _): await latch.wait()
        case (.signal(let signal), .throughCancellation): await signal.waitThroughCancellation()
        case (.signal(let signal), _): await signal.wait()
        case (.permits(let permits, _), _):
            do { try await permits.acquire() } catch { return false }
        }
        return true
    }
}

/// A model of the waiting tasks with plain values, without tasks and locks.
struct WaitingModel {
    enum Way: CaseIterable, Sendable {
        case ordinary, throughCancellation
        /// The task is cancelled before it waits.
        case cancelledBefore
    }

    struct Ending: Hashable, Sendable {
        let id: Int
        let isGranted: Bool
    }

    private let subject: Awaited
    /// The number of waits that would end at once. An open latch keeps it at 1.
    private var ready: Int
    /// The waiting tasks in order, and the way in which each waits.
    private(set) var line: [(id: Int, way: Way)] = []
    private(set) var held = 0

    init(_ subject: Awaited) {
        self.subject = subject
        ready = if case .permits(_, let count) = subject { count } else { 0 }
    }

    private var isLatch: Bool { if case .latch = subject { true } else { false } }
    private var hasPermits: Bool { if case .permits = subject { true } else { false } }
    /// True if a wake is allowed. A permit is released only while it is held.
    var mayWake: Bool { !hasPermits || held > 0 }

    /// Adds a wait. Like the other steps, it returns the waits that end.
    mutating func wait(_ id: Int, way: Way) -> [Ending] {
        if way == .cancelledBefore { return [Ending(id: id, isGranted: !hasPermits)] }
        guard ready > 0 else {
            line.append((id, way))
            return []
        }
        if !isLatch { ready -= 1 }
        held += 1
        return [Ending(id: id, isGranted: true)]
    }

    mutating func wake() -> [Ending] {
        if isLatch {
            defer { (line, ready) = ([], 1) }
            return line.map { Ending(id: $0.id, isGranted: true) }
        }
        guard let first = line.first else {
            ready = hasPermits ? ready + 1 : 1
            held -= 1
            return []
        }
        line.removeFirst()
        return [Ending(id: first.id, isGranted: true)]
    }

    mutating func cancel(_ id: Int) -> [Ending] {
        guard let index = line.firstIndex(where: { $0.id == id && $0.way != .throughCancellation }) else { return [] }
        line.remove(at: index)
        return [Ending(id: id, isGranted: !hasPermits)]
    }
}
