import Foundation

/// The in-memory entries of one kind, evicted by CLOCK. A hand moves around the slots. It spares an entry that was used
/// since its last visit once, and evicts the others.
///
/// A use only sets a mark in a slot, so a hit moves nothing. The hit ratio is close to that of exact LRU order.
///
/// Source: F. J. Corbató, "A Paging Experiment with the Multics System" (1968).
struct ClockRing {
    /// The cost of an entry besides its content and its name, in bytes: slot, name, tags, allocations.
    static let overhead = 256

    private struct Slot {
        var name: String
        var tags: [CacheTag]
        var cost: Int
    }

    private var index: [String: Int] = [:]
    private var contents: [Data] = []
    private var slots: [Slot?] = []
    /// The mark of each slot. The hand spares a marked slot once.
    private var isMarked: [Bool] = []
    /// The time of the last use of each slot, as a value of ``now``.
    private var ticks: [UInt64] = []
    private var free: [Int] = []
    private var byTag: [CacheTag: Set<Int>] = [:]
    private var hand = 0
    private var now: UInt64 = 0
    /// The tick up to which ``takeUses()`` has returned the uses.
    private var taken: UInt64 = 0
    /// Uses since the last ``takeUses()`` of entries that left memory or were never in it.
    private var usesElsewhere: [String: UInt64] = [:]
    /// The maximum number of these uses. They are not collected while the disk has room. Beyond it, the older half is
    /// dropped.
    private static let mostUsesElsewhere = 4_096

    private(set) var limit: CacheLimit
    /// The cost of all entries, in bytes.
    private(set) var cost = 0
    private(set) var hits = 0
    var count: Int { index.count }

    init(limit: CacheLimit) {
        self.limit = limit
    }

    /// Returns the content of an entry. This counts as a use.
    mutating func content(_ name: String) -> Data? {
        guard let slot = index[name] else { return nil }
        now += 1
        ticks[slot] = now
        isMarked[slot] = true
        hits += 1
        return contents[slot]
    }

    /// Inserts an entry in place of an existing one with its name, unless it is too large.
    ///
    /// - Parameter isUse: true if the content was read from the disk, where this use is not recorded yet.
    mutating func insert(_ content: Data, name: String, tags: [CacheTag], isUse: Bool) {
        remove(name)
        let cost = content.count + name.utf8.count + Self.overhead
        guard cost <= limit.largestEntry else {
            if isUse { noteUse(name) }
            return
        }
        makeRoom(for: cost)
        let slot = takeSlot()
        index[name] = slot
        contents[slot] = content
        slots[slot] = Slot(name: name, tags: tags, cost: cost)
        isMarked[slot] = false
        now += 1
        ticks[slot] = isUse ? now : 0
        for tag in tags { byTag[tag, default: []].insert(slot) }
        self.cost += cost
    }

    private mutating func takeSlot() -> Int {
        if let slot = free.popLast() { return slot }
        contents.append(Data())
        slots.append(nil)
        isMarked.append(false)
        ticks.append(0)
        return slots.count - 1
    }

    // MARK: Evicting

    mutating func setLimit(_ limit: CacheLimit) {
        self.limit = limit
        makeRoom(for: nil)
        // An entry larger than a tenth of the new limit could not be inserted now, so it is removed.
        for slot in slots.indices { if let entry = slots[slot], entry.cost > limit.largestEntry { clear(slot) } }
    }

    private mutating func makeRoom(for cost: Int?) {
        while !index.isEmpty, !limit.holds(count: count + (cost == nil ? 0 : 1), byteCount: self.cost + (cost ?? 0)) {
            if slots[hand] != nil {
                if isMarked[hand] { isMarked[hand] = false } else { evict(hand) }
            }
            hand = hand + 1 == slots.count ? 0 : hand + 1
        }
    }

    private mutating func evict(_ slot: Int) {
        if ticks[slot] > taken, let entry = slots[slot] { keepUse(entry.name, tick: ticks[slot]) }
        clear(slot)
    }

    private mutating func keepUse(_ name: String, tick: UInt64) {
        usesElsewhere[name] = tick
        guard usesElsewhere.count > Self.mostUsesElsewhere else { return }
        let middle = usesElsewhere.values.sorted()[usesElsewhere.count / 2]
        usesElsewhere = usesElsewhere.filter { $0.value >= middle }
    }

    // MARK: Removing

    mutating func remove(_ name: String) {
        usesElsewhere[name] = nil
        if let slot = index[name] { clear(slot) }
    }

    mutating func remove(tag: CacheTag) {
        for slot in byTag[tag] ?? [] { clear(slot) }
    }

    mutating func removeAll() {
        let (limit, hits, now) = (limit, hits, now)
        self = ClockRing(limit: limit)
        self.hits = hits
        self.now = now
        taken = now
    }

    /// Removes all entries from memory, like ``removeAll()``, but keeps their uses, because the entries stay on the
    /// disk.
    mutating func dropAll() {
        for slot in slots.indices { evict(slot) }
        let uses = (usesElsewhere, taken)
        removeAll()
        (usesElsewhere, taken) = uses
    }

    private mutating func clear(_ slot: Int) {
        guard let entry = slots[slot] else { return }
        index[entry.name] = nil
        contents[slot] = Data()
        slots[slot] = nil
        isMarked[slot] = false
        for tag in entry.tags {
            byTag[tag]?.remove(slot)
            if byTag[tag]?.isEmpty == true { byTag[tag] = nil }
        }
        cost -= entry.cost
        free.append(slot)
    }

    // MARK: Uses

    /// Records a use of an entry that is only on the disk.
    private mutating func noteUse(_ name: String) {
        now += 1
        keepUse(name, tick: now)
    }

    /// Returns the entries that were used since the last call. The most recently used one is last.
    mutating func takeUses() -> [String] {
        var uses = usesElsewhere
        for slot in slots.indices where ticks[slot] > taken {
            if let entry = slots[slot] { uses[entry.name] = ticks[slot] }
        }
        usesElsewhere = [:]
        taken = now
        return uses.sorted { $0.value < $1.value }.map(\.key)
    }
}
