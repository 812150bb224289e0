import LFSSystem

/// The selection of entries that this device publishes: all of them, or as many as its transport accepts.
///
/// Over the limit, records of removals are left out first. Those that no device needs come before the others, and older
/// ones before later ones. They stay recorded on this device. After them the largest values are left out, which keeps
/// their number small. Of equally large values, the one set last is left out first.
struct CompanionSelection: Sendable {
    /// The limit of a state's size in bytes.
    let limit: Int
    /// The names of removed keys whose removal has not reached all devices.
    let needed: Set<String>
    private(set) var entries: [String: CompanionState.Entry] = [:]
    /// The ids of the values that are left out, by the names of their keys.
    private(set) var leftOut: [String: FileID] = [:]
    private var kept: Set<String> = []
    private var byteCount = CompanionState.frame

    init(limit: Int, needed: Set<String>) { (self.limit, self.needed) = (limit, needed) }

    /// True if the state is too large and nothing more can be left out.
    var isOverLimit: Bool { byteCount > limit }

    /// Adds an entry of this device. At most twice the limit is held in memory.
    mutating func add(_ name: String, entry: CompanionState.Entry) {
        put(name, entry: entry)
        if byteCount / 2 > limit { fit() }
    }

    /// Adds an entry that was published before and may not be stored anywhere else. If it wins and has a value, it is
    /// never left out.
    mutating func keep(_ name: String, entry: CompanionState.Entry) {
        if let standing = entries[name], !entry.wins(over: standing) { return }
        if let id = leftOut[name], entry.updateID <= id { return }
        leftOut[name] = nil
        put(name, entry: entry)
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

    private mutating func put(_ name: String, entry: CompanionState.Entry) {
        if let standing = entries.updateValue(entry, forKey: name) { byteCount -= standing.byteCount(of: name) }
        byteCount += entry.byteCount(of: name)
    }
}
