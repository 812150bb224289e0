import LFSSystem

/// What this device publishes: all that it has, or as much of it as its transport carries.
///
/// Over the limit the notes of removals are left out first, those that nobody waits for before the others, and the
/// oldest before later ones. They stay noted here. Then the largest values are, of equal ones the last that was set: so
/// as few of them as can be.
struct CompanionSelection: Sendable {
    /// Bytes of a state at most.
    let limit: Int
    /// Removals that somebody has not heard of yet.
    let needed: Set<String>
    private(set) var entries: [String: CompanionState.Entry] = [:]
    /// Values that are left out, by the ids of their updates.
    private(set) var leftOut: [String: FileID] = [:]
    private var kept: Set<String> = []
    private var byteCount = CompanionState.frame

    init(limit: Int, needed: Set<String>) { (self.limit, self.needed) = (limit, needed) }

    /// Whether it is too large though nothing more can be left out.
    var isOverLimit: Bool { byteCount > limit }

    /// Adds what is stored here. Twice the limit at most is held in memory.
    mutating func add(_ name: String, _ entry: CompanionState.Entry) {
        put(name, entry)
        if byteCount / 2 > limit { fit() }
    }

    /// Adds what was published before and may be nowhere else: where it wins, it is never left out.
    mutating func keep(_ name: String, _ entry: CompanionState.Entry) {
        if let standing = entries[name], !entry.wins(over: standing) { return }
        if let id = leftOut[name], entry.updateID <= id { return }
        leftOut[name] = nil
        put(name, entry)
        if entry.content != nil { kept.insert(name) }
    }

    mutating func fit() {
        guard isOverLimit else { return }
        let needed = needed
        let removals = entries.filter { $0.value.content == nil }.sorted { left, right in
            let (isLeftNeeded, isRightNeeded) = (needed.contains(left.key), needed.contains(right.key))
            return isLeftNeeded == isRightNeeded ? left.value.updateID < right.value.updateID : isRightNeeded
        }
        let values = entries.filter { $0.value.content != nil && !kept.contains($0.key) }.sorted { left, right in
            let (leftCount, rightCount) = (left.value.byteCount(of: left.key), right.value.byteCount(of: right.key))
            return leftCount == rightCount ? left.value.updateID > right.value.updateID : leftCount > rightCount
        }
        for (name, entry) in removals + values where isOverLimit {
            entries[name] = nil
            byteCount -= entry.byteCount(of: name)
            if entry.content != nil { leftOut[name] = entry.updateID }
        }
    }

    private mutating func put(_ name: String, _ entry: CompanionState.Entry) {
        if let standing = entries.updateValue(entry, forKey: name) { byteCount -= standing.byteCount(of: name) }
        byteCount += entry.byteCount(of: name)
    }
}
