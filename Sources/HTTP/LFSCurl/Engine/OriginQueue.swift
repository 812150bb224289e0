/// The queue of one origin: the number of running requests, and the waiting requests, oldest first.
///
/// The engine's thread owns it.
final class OriginQueue {
    private let limit: Int
    private(set) var underWay = 0
    private(set) var waiting: [Transfer] = []
    /// True if the last request that ended has got a reply.
    var hasReplied = false

    /// - Parameter limit: the maximum number of concurrent requests. A value below 1 counts as 1.
    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    var isEmpty: Bool { underWay == 0 && waiting.isEmpty }

    /// Returns true if the transfer may start at once. Otherwise the queue keeps it.
    func enter(_ transfer: Transfer) -> Bool {
        guard underWay < limit else {
            waiting.append(transfer)
            return false
        }
        underWay += 1
        return true
    }

    /// Records that a transfer has ended. Returns the next waiting transfer, which must be started.
    func leave() -> Transfer? {
        guard !waiting.isEmpty else {
            underWay -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Removes and returns all waiting transfers, so that none of them starts.
    func removeWaiting() -> [Transfer] {
        defer { waiting = [] }
        return waiting
    }

    /// Removes a waiting transfer. Returns false if it is not waiting.
    func remove(_ transfer: Transfer) -> Bool {
        guard let index = waiting.firstIndex(where: { $0 === transfer }) else { return false }
        waiting.remove(at: index)
        return true
    }
}
