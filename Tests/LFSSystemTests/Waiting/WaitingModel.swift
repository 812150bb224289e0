import TestSupport

@testable import LFSSystem

/// A latch, a signal or permits, as what they have in common.
enum Awaited: Sendable {
    case latch(Latch)
    case signal(Signal)
    case permits(Permits, count: Int)

    enum Kind: CaseIterable, Sendable {
        case latch, signal, permits
    }

    init(_ kind: Kind, permits count: Int) {
        switch kind {
        case .latch: self = .latch(Latch())
        case .signal: self = .signal(Signal())
        case .permits: self = .permits(Permits(count), count: count)
        }
    }

    var waiterCount: Int {
        switch self {
        case .latch(let latch): latch.waiterCount
        case .signal(let signal): signal.waiterCount
        case .permits(let permits, _): permits.waiterCount
        }
    }

    /// Opens the latch, rings the signal or gives a permit back.
    func wake() {
        switch self {
        case .latch(let latch): latch.open()
        case .signal(let signal): signal.notify()
        case .permits(let permits, _): permits.release()
        }
    }

    /// Returns whether the wait ended well. Only permits tell a cancelled one.
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

/// What has to become of those who wait, as plain values: no task, no lock.
struct WaitingModel {
    enum Way: CaseIterable, Sendable {
        case ordinary, throughCancellation
        /// In a task that is cancelled before it waits.
        case cancelledBefore
    }

    struct Ending: Hashable, Sendable {
        let id: Int
        let isGranted: Bool
    }

    private let subject: Awaited
    /// How many waits would end at once. A latch that is open never has fewer.
    private var ready: Int
    /// Who waits, in order, and in which way.
    private(set) var line: [(id: Int, way: Way)] = []
    private(set) var held = 0

    init(_ subject: Awaited) {
        self.subject = subject
        ready = if case .permits(_, let count) = subject { count } else { 0 }
    }

    private var isLatch: Bool { if case .latch = subject { true } else { false } }
    private var arePermits: Bool { if case .permits = subject { true } else { false } }
    /// A permit is given back only by one who has it.
    var mayWake: Bool { !arePermits || held > 0 }

    /// Each of these returns who ends by it.
    mutating func wait(_ id: Int, _ way: Way) -> [Ending] {
        if way == .cancelledBefore { return [Ending(id: id, isGranted: !arePermits)] }
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
            ready = arePermits ? ready + 1 : 1
            held -= 1
            return []
        }
        line.removeFirst()
        return [Ending(id: first.id, isGranted: true)]
    }

    mutating func cancel(_ id: Int) -> [Ending] {
        guard let index = line.firstIndex(where: { $0.id == id && $0.way != .throughCancellation }) else { return [] }
        line.remove(at: index)
        return [Ending(id: id, isGranted: !arePermits)]
    }
}
