import GRDB
import LFS
import LFSBackup

/// Looks before files are attached whether the disk has room for their copies, and keeps some for the database, so
/// that what is uploaded can be written down. Where copies may go, it waits until uploads have made room.
struct DiskRoom: Sendable {
    let lfs: LFSManager
    let database: any DatabaseWriter
    let report: Report
    /// Where the database is, and local copies are in the end.
    let store: String
    /// Where the bytes of new files wait, if that is elsewhere; they are uploaded from there as well.
    let staging: String?
    /// Whether local copies go that are proven on the storage.
    let frees: Bool

    /// What one file takes beside its bytes: its rows, and what file systems round up to.
    private static let rowsByteCount: Int64 = 12 << 10
    /// While there is room for some, others wait no longer for room for all.
    private static let longestWait = Duration.seconds(2)
    private static let shortestPause = Duration.milliseconds(50)

    /// - Parameters:
    ///   - sizes: of the next files.
    ///   - wasRefused: whether the first one did not fit, although it looked so.
    /// - Throws: the database's error; `CancellationError`.
    func ask(_ sizes: [Int64], wasRefused: Bool) async throws -> BackupRoom.Answer {
        let sizes = sizes.map { $0.addingSaturated(Self.rowsByteCount) }
        if !wasRefused {
            let count = fitting(sizes)
            if count > 0 { return .take(count) }
        }
        // What waits elsewhere makes room by itself: it goes to its place.
        if frees || staging != nil, canEverHold(sizes[0]) { return try await makeRoom(sizes, wasRefused) }
        return refusal
    }

    /// Does what writes rows, and once more when copies have gone for it.
    ///
    /// - Throws: what the body throws.
    func writingRows(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as DatabaseError where error.isForWantOfSpace {
            guard case .take = try await ask([0], wasRefused: true) else { throw error }
            try await body()
        }
    }

    // MARK: Waiting

    private func makeRoom(_ sizes: [Int64], _ wasRefused: Bool) async throws -> BackupRoom.Answer {
        let began = ContinuousClock.now
        var (pause, hasFreed) = (Duration.zero, false)
        var pending: Int?
        while true {
            try Task.checkCancellation()
            let waiting = try await lfs.waitForUploads(timeout: pause).pending
            if !frees {
                hasFreed = hasFreed || waiting < pending ?? 0
                (pending, pause) = (waiting, Self.shortestPause)
            } else if waiting != pending {
                pending = waiting
                let start = ContinuousClock.now
                switch try await free() {
                case let freed?: hasFreed = hasFreed || freed > 0
                case nil: pending = nil
                }
                // A look at many copies takes its time, and is not to take all of it.
                pause = max(Self.shortestPause, (ContinuousClock.now - start) * 4)
            }
            let count = wasRefused && !hasFreed ? 0 : fitting(sizes)
            let isEnough = count == sizes.count || waiting == 0 || ContinuousClock.now - began > Self.longestWait
            if count > 0, isEnough { return .take(count) }
            if waiting == 0 { return refusal }
        }
    }

    /// Lets the copies go that may.
    ///
    /// - Returns: how many; nil when the database had no room to note it.
    private func free() async throws -> Int? {
        try await shortenLog()
        // Nobody knows what a changed storage has.
        guard try await database.read(StorageMemory.doubt) == nil else { return 0 }
        do {
            let evicted = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { [report] _ in report.worked() }.evicted
            report.freed(evicted, isLast: false)
            return evicted.files
        } catch let error as LFSError where error.code == .noSpace {
            return nil
        }
    }

    /// What SQLite has beside the database is in the way as well.
    private func shortenLog() async throws {
        try await database.writeWithoutTransaction { db in
            // A reader may be in its way, and the disk may be too full for it.
            do { _ = try db.checkpoint(.truncate) } catch is DatabaseError {}
        }
    }

    // MARK: The disk

    /// How many of the next files fit in.
    private func fitting(_ sizes: [Int64]) -> Int {
        let space = DiskSpace(of: store)
        var left = space?.free ?? .max
        var elsewhere = staging.flatMap { DiskSpace(of: $0)?.available } ?? .max
        return sizes.prefix { size in
            // One that waits elsewhere comes here when there is room for it, and only then.
            let staysElsewhere = staging != nil && size > space?.available ?? .max
            left -= min(staysElsewhere ? Self.rowsByteCount : size, left)
            elsewhere -= min(size, elsewhere)
            return left > 0 && elsewhere > 0
        }.count
    }

    /// Whether a file would fit on the disk if that were empty.
    private func canEverHold(_ size: Int64) -> Bool { DiskSpace(of: staging ?? store)?.total ?? .max > size }

    private var refusal: BackupRoom.Answer {
        let advice = frees ? "Free some space" : "Free some space ('uploader free' does, of what is on the storage)"
        let other = staging == nil ? ", or let new files wait on another disk with --persistence-location" : ""
        let isStoreFull = DiskSpace(of: store)?.free ?? .max <= Self.rowsByteCount
        let place = isStoreFull ? store : staging ?? store
        return .refuse("the disk that holds \(place) has no room for it. \(advice)\(other).")
    }
}
