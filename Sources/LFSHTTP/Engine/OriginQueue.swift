/// The requests of one origin: how many are under way, and which wait for their turn, oldest first.
struct OriginQueue {
    private(set) var underWay = 0
    private(set) var waiting: [Transfer] = []

    var isEmpty: Bool { underWay == 0 && waiting.isEmpty }

    /// Returns whether the transfer may begin at once; otherwise it waits here.
    mutating func enter(_ transfer: Transfer, limit: Int) -> Bool {
        guard underWay < max(limit, 1) else {
            waiting.append(transfer)
            return false
        }
        underWay += 1
        return true
    }

    /// One is through: the next that may begin, if one waits.
    mutating func leave() -> Transfer? {
        guard !waiting.isEmpty else {
            underWay -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Takes one out that waits. Returns whether it did.
    mutating func remove(_ transfer: Transfer) -> Bool {
        guard let index = waiting.firstIndex(where: { $0 === transfer }) else { return false }
        waiting.remove(at: index)
        return true
    }
}
