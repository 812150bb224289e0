import HeapModule
import LFSSystem
import Synchronization

/// An index of the local copies with their sizes and last uses, so that downloads need not read the folder.
///
/// It is kept only while a policy has a limit. It takes about 80 bytes per copy.
///
/// A use changes only the entry. The heap has one time per candidate, which is its last use or an earlier time. A
/// candidate that was used since is put back when it is taken, so the order is exact and a use costs no more than a
/// look-up.
final class LocalCopyIndex: Sendable {
    private struct Entry {
        var byteCount: Int64
        /// Ascends with each use. Its upper bits are milliseconds since 1970.
        var lastUse: Int64
        /// True if the copy may be evicted, as far as is known.
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
        /// The bytes of running downloads that are already on the disk.
        var arrived: Int64 = 0
        var lastUse: Int64 = 0
        /// The copies that were added or removed during a scan of the folder. Nil when no scan is running.
        var touched: Set<FileID.Bits>?
        var scanned: [FileID.Bits: Entry] = [:]
    }

    /// The factor that gives uses within the same millisecond an order.
    private static let usesPerMillisecond: Int64 = 1_024

    private let state = Mutex(State())
    /// Notified when there may be too many bytes, or when another copy may be evicted.
    let changed = Signal()

    var isKept: Bool { state.withLock { $0.isKept } }
    /// The bytes of all copies, the bytes reserved for downloads, and how many of the reserved bytes have arrived.
    var byteCounts: (copies: Int64, reserved: Int64, arrived: Int64) {
        state.withLock { ($0.byteCount, $0.reserved, $0.arrived) }
    }
    var count: Int { state.withLock { $0.entries.count } }

    // MARK: Reading the folder

    /// Starts to keep the ledger, or to compare it with the folder. Changes from now on take precedence over the
    /// entries of ``add(scanned:isCandidate:)``.
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
            state.scanned = [:]
            state.touched = nil
            for bits in touched { state.entries[bits] = old[bits] }
            for (bits, entry) in state.entries {
                state.entries[bits]?.lastUse = max(entry.lastUse, old[bits]?.lastUse ?? 0)
            }
            state.byteCount = state.entries.values.reduce(0) { $0 + $1.byteCount }
            Self.makeHeap(&state)
        }
        changed.notify()
    }

    /// Stops keeping the ledger, because no policy has a limit.
    func end() {
        state.withLock { state in
            state.isKept = false
            state.entries = [:]
            state.heap = Heap()
            state.byteCount = 0
            state.scanned = [:]
            state.touched = nil
        }
    }

    // MARK: Changes

    func noteUse(of id: FileID, now: Int64) {
        state.withLock { state in
            guard state.isKept else { return }
            let use = Self.makeUse(&state, now: now)
            state.entries[id.bits]?.lastUse = use
        }
    }

    /// Adds a file that has entered the store and is not uploaded yet.
    func add(_ id: FileID, byteCount: Int64) {
        let isNews = state.withLock { state in
            guard state.isKept else { return false }
            Self.set(
                &state, bits: id.bits, entry: Entry(byteCount: byteCount, lastUse: state.lastUse, isCandidate: false))
            return true
        }
        if isNews { changed.notify() }
    }

    func remove(_ id: FileID) {
        state.withLock { state in
            if state.isKept { Self.set(&state, bits: id.bits, entry: nil) }
        }
    }

    /// Makes a copy a candidate for eviction and notifies ``changed``.
    func allow(_ id: FileID) {
        giveBack([id])
        changed.notify()
    }

    // MARK: Downloads

    /// Counts the bytes of a download before they arrive.
    func reserve(_ byteCount: Int64) { state.withLock { $0.reserved += byteCount } }

    /// Counts bytes of a download that have arrived, or subtracts bytes that were discarded.
    func noteArrived(_ byteCount: Int64) { state.withLock { $0.arrived += byteCount } }

    /// Ends a download that produced no file.
    func release(_ byteCount: Int64, arrived: Int64) {
        state.withLock { state in
            state.reserved -= byteCount
            state.arrived -= arrived
        }
    }

    /// Ends a download that produced the file.
    func settle(_ id: FileID, byteCount: Int64, arrived: Int64, now: Int64) {
        state.withLock { state in
            state.reserved -= byteCount
            state.arrived -= arrived
            guard state.isKept else { return }
            let use = Self.makeUse(&state, now: now)
            Self.set(&state, bits: id.bits, entry: Entry(byteCount: byteCount, lastUse: use, isCandidate: false))
            Self.allow(&state, bits: id.bits)
        }
        changed.notify()
    }

    // MARK: Evicting

    /// Takes the least recently used candidates until their sizes reach `byteCount`, at most `limit` of them. They are
    /// not candidates again until ``allow(_:)``.
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

    /// Makes copies candidates again that were taken but not evicted. It notifies no signal, because nothing has
    /// changed.
    func giveBack(_ ids: [FileID]) {
        state.withLock { state in
            for id in ids { Self.allow(&state, bits: id.bits) }
        }
    }

    // MARK: Changing the state

    private static func set(_ state: inout State, bits: FileID.Bits, entry: Entry?) {
        state.byteCount += (entry?.byteCount ?? 0) - (state.entries[bits]?.byteCount ?? 0)
        state.entries[bits] = entry
        state.touched?.insert(bits)
    }

    private static func allow(_ state: inout State, bits: FileID.Bits) {
        guard let entry = state.entries[bits], !entry.isCandidate else { return }
        state.entries[bits]?.isCandidate = true
        state.touched?.insert(bits)
        state.heap.insert(Candidate(lastUse: entry.lastUse, bits: bits))
        // Removed copies leave their candidates in the heap.
        if state.heap.count > 2 * state.entries.count + 1_000 { makeHeap(&state) }
    }

    private static func makeHeap(_ state: inout State) {
        state.heap = Heap(
            state.entries.lazy.filter(\.value.isCandidate).map { Candidate(lastUse: $0.value.lastUse, bits: $0.key) })
    }

    private static func makeUse(_ state: inout State, now: Int64) -> Int64 {
        state.lastUse = max(state.lastUse + 1, now * usesPerMillisecond)
        return state.lastUse
    }
}
