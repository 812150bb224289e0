/// The requests of one origin: how many are under way, and which wait for their turn, oldest first.
///
/// Owner: the engine's thread.
final class OriginQueue {
    private let limit: Int
    private(set) var underWay = 0
    private(set) var waiting: [Transfer] = []

    /// - Parameter limit: how many may be under way at once; at least 1, and less counts as 1.
    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    var isEmpty: Bool { underWay == 0 && waiting.isEmpty }

    /// Returns whether the transfer may begin at once; otherwise it waits here.
    func enter(_ transfer: Transfer) -> Bool {
        guard underWay < limit else {
            waiting.append(transfer)
            return false
        }
        underWay += 1
        return true
    }

    /// One is through: the next that may begin, if one waits.
    func leave() -> Transfer? {
        guard !waiting.isEmpty else {
            underWay -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Takes out all that wait, so that none of them begins.
    func removeWaiting() -> [Transfer] {
        defer { waiting = [] }
        return waiting
    }

    /// Takes one out that waits. Returns whether it did.
    func remove(_ transfer: Transfer) -> Bool {
        guard let index = waiting.firstIndex(where: { $0 === transfer }) else { return false }
        waiting.remove(at: index)
        return true
    }
}
