import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// An eviction that keeps the local store within a policy's limits at all times. It runs before a download, and after a
/// file has entered the store or its upload is proven.
///
/// Calls that make room run one at a time.
final class AutomaticEviction: Sendable {
    private struct Current {
        var policy: EvictionPolicy
        /// The number of policies so far.
        var number = 0
    }

    private let current: Mutex<Current>
    private let runner: BackgroundRunner
    private let places: FileLocations
    private let readBack: ObjectVerifier
    private let wallClock: @Sendable () -> Date
    private let logger: Logger
    private let turns = AsyncSemaphore(1)
    private let scans = AsyncSemaphore(1)
    private let isFilled = Mutex(false)
    private let hasWarned = Mutex(false)
    /// Notified when the policy changes.
    let policyChanged = Signal()

    /// The maximum number of copies in one transaction.
    private static let page = 100

    init(
        _ policy: EvictionPolicy, runner: BackgroundRunner, places: FileLocations, readBack: ObjectVerifier,
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

    /// The policy that applies from now on. The next scan of the folder applies it to the existing copies.
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
    private var ledger: LocalCopyIndex { places.ledger }
    private var now: Int64 { wallClock().millisecondsSince1970 }

    func noteUse(of id: FileID) { if isActive { ledger.noteUse(of: id, now: now) } }

    /// Downloads a file with enough room for it. Other copies are evicted before its first byte arrives.
    ///
    /// - Parameter fetch: calls `onBytes` with the number of bytes on the disk whenever it changes.
    func withRoom(
        for id: FileID, _ byteCount: Int64,
        _ fetch: (_ onBytes: @escaping @Sendable (Int64) -> Void) async throws -> Void
    ) async throws {
        guard isActive else {
            try await fetch { _ in }
            // A policy may have been set during the download.
            if isActive {
                ledger.reserve(byteCount)
                ledger.settle(id, byteCount: byteCount, arrived: 0, now: now)
            }
            return
        }
        let arrival = DownloadStart(in: ledger)
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

    /// Makes room, and logs a failure. A failed eviction must neither refuse a reader nor end the background work. The
    /// next change or scan tries again.
    func makeRoomIfPossible() async {
        await tryQuietly { try await self.makeRoom() }
    }

    /// Compares the ledger with the folder, which other processes change as well, and asks the rules again.
    ///
    /// Calls that make room do not wait for it.
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
            // While eviction fails, the limit is exceeded. The app has to be warned of that once.
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
            // Copies that were skipped for now. They are checked again when their readers have closed them.
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
                    let reasons = try await remover.remove(oldest, policy: policy, passesUsed: true)
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

    /// Scans the folder once for a policy. All calls that make room wait for it.
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
        // A scan by the rules of an earlier policy does not count.
        isFilled.withLock { $0 = current.withLock { $0.number } == number }
    }
}

/// The number of bytes of one download that are on the disk.
private final class DownloadStart: Sendable {
    private let ledger: LocalCopyIndex
    private let count = Mutex<Int64>(0)

    init(in ledger: LocalCopyIndex) {
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
