import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// Holds the local store within a policy's aims all the time: before a download brings its bytes, and after a file has
/// come or its upload is proven.
///
/// Who makes room takes turns with all others who do.
final class AutomaticEviction: Sendable {
    private struct Current {
        var policy: EvictionPolicy
        /// Counts the policies that there were.
        var number = 0
    }

    private let current: Mutex<Current>
    private let runner: BackgroundRunner
    private let places: FilePlaces
    private let readBack: ReadBack
    private let wallClock: @Sendable () -> Date
    private let logger: Logger
    private let turns = Permits(1)
    private let scans = Permits(1)
    private let isFilled = Mutex(false)
    private let hasWarned = Mutex(false)
    /// Rings when there is another policy.
    let policyChanged = Signal()

    /// How many copies go in one transaction at the most.
    private static let page = 100

    init(
        _ policy: EvictionPolicy, runner: BackgroundRunner, places: FilePlaces, readBack: ReadBack,
        wallClock: @escaping @Sendable () -> Date, logger: Logger
    ) {
        current = Mutex(Current(policy: policy))
        self.runner = runner
        self.places = places
        self.readBack = readBack
        self.wallClock = wallClock
        self.logger = logger
        if policy.hasAim { places.ledger.beginScan() }
    }

    /// What holds from now on. The next look at the folder applies it to the copies that are there.
    var policy: EvictionPolicy {
        get { current.withLock { $0.policy } }
        set {
            current.withLock { $0 = Current(policy: newValue, number: $0.number + 1) }
            isFilled.withLock { $0 = false }
            if newValue.hasAim { ledger.beginScan() } else { ledger.end() }
            policyChanged.notify()
        }
    }

    var isActive: Bool { policy.hasAim }
    private var ledger: CopyLedger { places.ledger }
    private var now: Int64 { wallClock().millisecondsSince1970 }

    func noteUse(of id: FileID) { if isActive { ledger.noteUse(of: id, now: now) } }

    /// Fetches a file with room for it: what has to go goes before its first byte comes.
    ///
    /// - Parameter fetch: tells how many bytes are here by now, whenever that changes.
    func withRoom(
        for id: FileID, _ byteCount: Int64,
        _ fetch: (_ onBytes: @escaping @Sendable (Int64) -> Void) async throws -> Void
    ) async throws {
        guard isActive else {
            try await fetch { _ in }
            // There may be a policy by now.
            if isActive {
                ledger.reserve(byteCount)
                ledger.settle(id, byteCount: byteCount, arrived: 0, now: now)
            }
            return
        }
        let arrival = Arrival(in: ledger)
        ledger.reserve(byteCount)
        do {
            let store = places.store
            arrival.note(
                try await BlockingPool.shared.run { _ in try IncomingFile.unfinishedByteCount(of: id, in: store) })
            await makeRoomIfPossible()
            try await fetch(arrival.note)
        } catch {
            ledger.release(byteCount, arrived: arrival.byteCount)
            throw error
        }
        ledger.settle(id, byteCount: byteCount, arrived: arrival.byteCount, now: now)
    }

    /// A copy that cannot be evicted now is no reason to refuse a reader or to end the background work: the next change
    /// or the next look at the folder tries again.
    func makeRoomIfPossible() async {
        await tryQuietly { try await self.makeRoom() }
    }

    /// Compares the ledger with the folder, which other processes change as well, and asks anew what may go.
    ///
    /// Whoever makes room does not wait for it.
    func refill() async {
        if !isActive { return }
        await tryQuietly { try await self.scans.withPermit { try await self.fill() } }
    }

    private func tryQuietly(_ body: () async throws -> Void) async {
        do {
            try await body()
            hasWarned.withLock { $0 = false }
        } catch {
            if Task.isCancelled { return }
            let isFirst = hasWarned.withLock { hasWarned in
                defer { hasWarned = true }
                return !hasWarned
            }
            // The limit is not held as long as it fails, so the host has to hear of it, once.
            logger.log(
                level: isFirst ? .warning : .debug, "eviction failed, will retry",
                metadata: ["error.message": "\(error)"])
        }
    }

    // MARK: Evicting

    private func makeRoom() async throws {
        try await turns.withPermit {
            if !isActive { return }
            try await fillOnce()
            // Passed over for now, and looked at again when their readers have gone.
            var passed: [FileID] = []
            defer {
                ledger.giveBack(passed)
                places.inUse.ring(ledger.changed, whenUnused: passed)
            }
            let remover = CopyRemover(runner: runner, places: places, readBack: readBack, wallClock: wallClock)
            while true {
                try Task.checkCancellation()
                let policy = policy
                let excess = try await excess(policy)
                if excess == 0 { return }
                let oldest = ledger.takeOldest(excess, limit: Self.page)
                if oldest.isEmpty {
                    return logger.debug("local copies over their limit", metadata: ["bytes": "\(excess)"])
                }
                do {
                    let reasons = try await remover.remove(oldest, policy, passesUsed: true)
                    passed += reasons.filter { $0.value == .inUse }.map(\.key)
                } catch {
                    ledger.giveBack(Array(oldest.keys))
                    throw error
                }
            }
        }
    }

    private func excess(_ policy: EvictionPolicy) async throws -> Int64 {
        let store = places.store
        let available =
            policy.minAvailableByteCount == nil
            ? .max : try await BlockingPool.shared.run { _ in try store.availableByteCount() }
        let (copies, reserved, arrived) = ledger.byteCounts
        return policy.excess(byteCount: copies + reserved, available: available - max(reserved - arrived, 0))
    }

    /// The first look at the folder, which everybody waits for.
    private func fillOnce() async throws {
        if isFilled.withLock({ $0 }) { return }
        try await scans.withPermit { if !isFilled.withLock({ $0 }) { try await fill() } }
    }

    private func fill() async throws {
        ledger.beginScan()
        let (policy, number) = current.withLock { ($0.policy, $0.number) }
        let rules = EvictionRules(policy: policy, now: now)
        try await CopyScan(runner: runner, places: places, rules: rules).run { [ledger] copy, reason in
            ledger.add(scanned: copy, isCandidate: reason == nil || reason == .inUse)
        }
        ledger.endScan()
        // What was asked by the rules of an earlier policy does not do.
        isFilled.withLock { $0 = current.withLock { $0.number } == number }
    }
}

/// How much of one download is on the disk.
private final class Arrival: Sendable {
    private let ledger: CopyLedger
    private let count = Mutex<Int64>(0)

    init(in ledger: CopyLedger) {
        self.ledger = ledger
    }

    var byteCount: Int64 { count.withLock { $0 } }

    @Sendable func note(_ byteCount: Int64) {
        let change = count.withLock { count in
            defer { count = byteCount }
            return byteCount - count
        }
        if change != 0 { ledger.noteArrived(change) }
    }
}
