import HeapModule
import LFSSystem
import Synchronization

/// Which local copies there are, how large they are, and which of them was not used for the longest time, so that no
/// folder has to be read for each download. Kept only while a policy has an aim; about 80 bytes for each copy.
///
/// A use changes the entry alone. The heap has a time for each candidate that is its last use or earlier: whoever takes
/// the first puts it back when it was used since. So the order is exact, and a use costs nothing more than a look-up.
final class CopyLedger: Sendable {
    private struct Entry {
        var byteCount: Int64
        /// In the order of the uses; its upper bits are milliseconds since 1970.
        var lastUse: Int64
        /// Whether it may be taken, as far as is known.
        var isCandidate: Bool
    }

    private struct Candidate: Comparable {
        var lastUse: Int64
        var bits: FileID.Bits

        static func < (left: Candidate, right: Candidate) -> Bool {
            (left.lastUse, left.bits) < (right.lastUse, right.bits)
        }
    }

    private struct State {
        var isKept = false
        var entries: [FileID.Bits: Entry] = [:]
        var heap = Heap<Candidate>()
        var byteCount: Int64 = 0
        var reserved: Int64 = 0
        /// What is on the disk of the downloads that are under way.
        var arrived: Int64 = 0
        var lastUse: Int64 = 0
        /// What came or went while the folder is read; nil when it is not.
        var touched: Set<FileID.Bits>?
        var scanned: [FileID.Bits: Entry] = [:]
    }

    /// Uses within a millisecond have an order too.
    private static let usesPerMillisecond: Int64 = 1_024

    private let state = Mutex(State())
    /// Rings when there may be too much, or something may go that could not before.
    let changed = Signal()

    var isKept: Bool { state.withLock { $0.isKept } }
    /// The bytes of all copies, those that were reserved for more, and how many of the reserved ones have come.
    var byteCounts: (copies: Int64, reserved: Int64, arrived: Int64) {
        state.withLock { ($0.byteCount, $0.reserved, $0.arrived) }
    }
    var count: Int { state.withLock { $0.entries.count } }

    // MARK: Reading the folder

    /// Begins to keep the ledger, or to compare it with the folder. What is told from now on counts more than what
    /// ``add(scanned:isCandidate:)`` tells.
    func beginScan() {
        state.withLock { state in
            state.isKept = true
            state.touched = state.touched ?? []
            state.scanned = [:]
        }
    }

    func add(scanned copy: LocalCopy, isCandidate: Bool) {
        let lastUse = copy.lastUse * Self.usesPerMillisecond
        state.withLock {
            $0.scanned[copy.bits] = Entry(byteCount: copy.byteCount, lastUse: lastUse, isCandidate: isCandidate)
        }
    }

    func endScan() {
        state.withLock { state in
            guard state.isKept else { return }
            let (old, touched) = (state.entries, state.touched ?? [])
            state.entries = state.scanned
            (state.scanned, state.touched) = ([:], nil)
            for bits in touched { state.entries[bits] = old[bits] }
            for (bits, entry) in state.entries {
                state.entries[bits]?.lastUse = max(entry.lastUse, old[bits]?.lastUse ?? 0)
            }
            state.byteCount = state.entries.values.reduce(0) { $0 + $1.byteCount }
            Self.makeHeap(&state)
        }
        changed.notify()
    }

    /// Keeps it no more: no policy has an aim.
    func end() {
        state.withLock { state in
            (state.isKept, state.entries, state.heap, state.byteCount) = (false, [:], Heap(), 0)
            (state.scanned, state.touched) = ([:], nil)
        }
    }

    // MARK: What happens

    func noteUse(of id: FileID, now: Int64) {
        state.withLock { state in
            guard state.isKept else { return }
            let use = Self.makeUse(&state, now)
            state.entries[id.bits]?.lastUse = use
        }
    }

    /// A file has come into the store that is not uploaded yet.
    func add(_ id: FileID, byteCount: Int64) {
        let isNews = state.withLock { state in
            guard state.isKept else { return false }
            Self.set(&state, id.bits, Entry(byteCount: byteCount, lastUse: state.lastUse, isCandidate: false))
            return true
        }
        if isNews { changed.notify() }
    }

    func remove(_ id: FileID) {
        state.withLock { state in
            if state.isKept { Self.set(&state, id.bits, nil) }
        }
    }

    /// A copy that could not go may go now, perhaps.
    func allow(_ id: FileID) {
        giveBack([id])
        changed.notify()
    }

    // MARK: Downloads

    /// Counts the bytes of a download before they come.
    func reserve(_ byteCount: Int64) { state.withLock { $0.reserved += byteCount } }

    /// Bytes of a download have come, or were given up.
    func noteArrived(_ byteCount: Int64) { state.withLock { $0.arrived += byteCount } }

    /// The download has ended without a file.
    func release(_ byteCount: Int64, arrived: Int64) {
        state.withLock { state in
            state.reserved -= byteCount
            state.arrived -= arrived
        }
    }

    /// The download has ended with the file.
    func settle(_ id: FileID, byteCount: Int64, arrived: Int64, now: Int64) {
        state.withLock { state in
            state.reserved -= byteCount
            state.arrived -= arrived
            guard state.isKept else { return }
            let use = Self.makeUse(&state, now)
            Self.set(&state, id.bits, Entry(byteCount: byteCount, lastUse: use, isCandidate: false))
            Self.allow(&state, id.bits)
        }
        changed.notify()
    }

    // MARK: Evicting

    /// Takes those candidates that were not used for the longest time: as many as it takes to free some bytes, up to a
    /// page. They are candidates no more until ``allow(_:)``.
    ///
    /// - Returns: their last uses, in milliseconds since 1970.
    func takeOldest(_ byteCount: Int64, limit: Int) -> [FileID: Int64] {
        state.withLock { state in
            var taken: [FileID: Int64] = [:]
            var sum: Int64 = 0
            while sum < byteCount, taken.count < limit, let first = state.heap.popMin() {
                guard let entry = state.entries[first.bits], entry.isCandidate else { continue }
                guard entry.lastUse == first.lastUse else {
                    state.heap.insert(Candidate(lastUse: entry.lastUse, bits: first.bits))
                    continue
                }
                state.entries[first.bits]?.isCandidate = false
                taken[FileID(first.bits)] = entry.lastUse / Self.usesPerMillisecond
                sum += entry.byteCount
            }
            return taken
        }
    }

    /// Makes copies candidates again that were taken and have stayed. Nobody is told: nothing has changed.
    func giveBack(_ ids: [FileID]) {
        state.withLock { state in
            for id in ids { Self.allow(&state, id.bits) }
        }
    }

    // MARK: Changing the state

    private static func set(_ state: inout State, _ bits: FileID.Bits, _ entry: Entry?) {
        state.byteCount += (entry?.byteCount ?? 0) - (state.entries[bits]?.byteCount ?? 0)
        state.entries[bits] = entry
        state.touched?.insert(bits)
    }

    private static func allow(_ state: inout State, _ bits: FileID.Bits) {
        guard let entry = state.entries[bits], !entry.isCandidate else { return }
        state.entries[bits]?.isCandidate = true
        state.touched?.insert(bits)
        state.heap.insert(Candidate(lastUse: entry.lastUse, bits: bits))
        // Copies that have gone leave theirs behind.
        if state.heap.count > 2 * state.entries.count + 1_000 { makeHeap(&state) }
    }

    private static func makeHeap(_ state: inout State) {
        state.heap = Heap(
            state.entries.lazy.filter(\.value.isCandidate).map { Candidate(lastUse: $0.value.lastUse, bits: $0.key) })
    }

    private static func makeUse(_ state: inout State, _ now: Int64) -> Int64 {
        state.lastUse = max(state.lastUse + 1, now * usesPerMillisecond)
        return state.lastUse
    }
}
