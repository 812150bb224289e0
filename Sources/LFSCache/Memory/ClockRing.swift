import Foundation

/// The entries of one kind that are in memory, evicted by CLOCK: a hand goes round, spares once what was used since it
/// came by last, and takes the rest.
///
/// A use is a mark in a slot, so a hit moves nothing; the ratio of hits is close to that of the exact order of uses.
///
/// Source: F. J. Corbató, "A Paging Experiment with the Multics System" (1968).
struct ClockRing {
    /// What an entry costs besides its content and its name, in bytes: slot, name, tags, allocations.
    static let overhead = 256

    private struct Slot {
        var name: String
        var tags: [CacheTag]
        var cost: Int
    }

    private var index: [String: Int] = [:]
    private var contents: [Data] = []
    private var slots: [Slot?] = []
    /// Whether the hand spares the slot.
    private var isMarked: [Bool] = []
    /// When each slot was used last, by ``now``.
    private var ticks: [UInt64] = []
    private var free: [Int] = []
    private var byTag: [CacheTag: Set<Int>] = [:]
    private var hand = 0
    private var now: UInt64 = 0
    /// Uses up to this tick are taken already.
    private var taken: UInt64 = 0
    /// Uses of entries that are not in memory any more, or never were, since ``takeUses()``.
    private var usesElsewhere: [String: UInt64] = [:]
    /// How many of them are kept: nobody asks as long as the disk has room. Of more the earlier half is forgotten.
    private static let mostUsesElsewhere = 4_096

    private(set) var limit: CacheLimit
    /// What all entries cost, in bytes.
    private(set) var cost = 0
    private(set) var hits = 0
    var count: Int { index.count }

    init(limit: CacheLimit) {
        self.limit = limit
    }

    /// The content of an entry, which counts as a use.
    mutating func content(_ name: String) -> Data? {
        guard let slot = index[name] else { return nil }
        now += 1
        ticks[slot] = now
        isMarked[slot] = true
        hits += 1
        return contents[slot]
    }

    /// Puts an entry in the place of another one with its name, if it is not too large.
    ///
    /// - Parameter isUse: whether it comes from the disk, where nobody knows of this use yet.
    mutating func insert(_ content: Data, _ name: String, tags: [CacheTag], isUse: Bool) {
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
        // An entry of more than a tenth stays no longer than others would let it.
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
        if ticks[slot] > taken, let entry = slots[slot] { keepUse(entry.name, ticks[slot]) }
        clear(slot)
    }

    private mutating func keepUse(_ name: String, _ tick: UInt64) {
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
        (self.hits, self.now, taken) = (hits, now, now)
    }

    /// As ``removeAll()``, for entries that stay on the disk: their uses count there.
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

    /// Notes a use of an entry that is on the disk only.
    private mutating func noteUse(_ name: String) {
        now += 1
        keepUse(name, now)
    }

    /// The entries that were used since this was asked last, the one that was used last at the end.
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
