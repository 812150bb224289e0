import GRDB
import LFS
import LFSBackup

/// A check for disk space before files are attached. It reserves some space for the database, so that the results of
/// uploads can be recorded. If copies may be freed, it waits until uploads have made space.
struct DiskRoom: Sendable {
    let lfs: LFSManager
    let database: any DatabaseWriter
    let report: Report
    /// The folder with the database. Local copies end up in it too.
    let store: String
    /// The staging folder of new files, if it is elsewhere. Uploads also read from it.
    let staging: String?
    /// True if local copies are freed once their upload is confirmed.
    let frees: Bool

    /// The space of a file in addition to its bytes, for its rows and for rounding by the file system.
    private static let rowsByteCount: Int64 = 12 << 10
    /// The maximum wait for space for all files, if there is space for some.
    private static let longestWait = Duration.seconds(2)
    private static let shortestPause = Duration.milliseconds(50)

    /// Decides how many of the next files may be attached, after a wait for space if necessary.
    ///
    /// - Parameters:
    ///   - sizes: the sizes of the next files in bytes.
    ///   - wasRefused: true if the first file did not fit, although an earlier answer allowed it.
    /// - Throws: the database's error. `CancellationError`.
    func ask(_ sizes: [Int64], wasRefused: Bool) async throws -> BackupSpace.Answer {
        let sizes = sizes.map { $0.addingSaturated(Self.rowsByteCount) }
        if !wasRefused {
            let count = fitting(sizes)
            if count > 0 { return .take(count) }
        }
        // The staging folder empties automatically, because its files move to the store.
        if frees || staging != nil, canEverHold(sizes[0]) { return try await makeRoom(sizes, wasRefused: wasRefused) }
        return refusal
    }

    /// Runs a body that writes rows. If the disk is full, repeats it after copies were freed.
    ///
    /// - Throws: errors of the body.
    func writingRows(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as DatabaseError where error.isForWantOfSpace {
            guard case .take = try await ask([0], wasRefused: true) else { throw error }
            try await body()
        }
    }

    // MARK: Waiting

    private func makeRoom(_ sizes: [Int64], wasRefused: Bool) async throws -> BackupSpace.Answer {
        let began = ContinuousClock.now
        var (pause, hasFreed) = (Duration.zero, false)
        var pending: Int?
        while true {
            try Task.checkCancellation()
            let waiting = try await lfs.waitForUploads(timeout: pause).pending
            if !frees {
                hasFreed = hasFreed || waiting < pending ?? 0
                pending = waiting
                pause = Self.shortestPause
            } else if waiting != pending {
                pending = waiting
                let start = ContinuousClock.now
                switch try await free() {
                case let freed?: hasFreed = hasFreed || freed > 0
                case nil: pending = nil
                }
                // Freeing many copies takes time, so the pauses are longer than that.
                pause = max(Self.shortestPause, (ContinuousClock.now - start) * 4)
            }
            let count = wasRefused && !hasFreed ? 0 : fitting(sizes)
            let isEnough = count == sizes.count || waiting == 0 || ContinuousClock.now - began > Self.longestWait
            if count > 0, isEnough { return .take(count) }
            if waiting == 0 { return refusal }
        }
    }

    /// Frees the copies that may be freed.
    ///
    /// - Returns: the number of freed copies. Nil if the database had no space to record it.
    private func free() async throws -> Int? {
        try await shortenLog()
        // The content of a changed storage is unknown.
        guard try await database.read(StorageMemory.doubt) == nil else { return 0 }
        do {
            let evicted = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { [report] _ in report.worked() }.evicted
            report.freed(evicted, isLast: false)
            return evicted.files
        } catch let error as LFSError where error.code == .noSpace {
            return nil
        }
    }

    /// Shortens SQLite's log, which also takes disk space.
    private func shortenLog() async throws {
        try await database.writeWithoutTransaction { db in
            // A reader may prevent it, or the disk may be too full for it.
            do { _ = try db.checkpoint(.truncate) } catch is DatabaseError {}
        }
    }

    // MARK: Disk

    /// Returns the number of the next files that fit on the disk.
    private func fitting(_ sizes: [Int64]) -> Int {
        let space = DiskSpace(of: store)
        var left = space?.free ?? .max
        var elsewhere = staging.flatMap { DiskSpace(of: $0)?.available } ?? .max
        return sizes.prefix { size in
            // A file moves from the staging folder to the store only if there is space for it.
            let staysElsewhere = staging != nil && size > space?.available ?? .max
            left -= min(staysElsewhere ? Self.rowsByteCount : size, left)
            elsewhere -= min(size, elsewhere)
            return left > 0 && elsewhere > 0
        }.count
    }

    /// Returns true if a file would fit on the empty disk.
    private func canEverHold(_ size: Int64) -> Bool { DiskSpace(of: staging ?? store)?.total ?? .max > size }

    private var refusal: BackupSpace.Answer {
        let advice = frees ? "Free some space" : "Free some space, for example with 'uploader free'"
        let other = staging == nil ? ", or stage new files on another disk with --persistence-location" : ""
        let isStoreFull = DiskSpace(of: store)?.free ?? .max <= Self.rowsByteCount
        let place = isStoreFull ? store : staging ?? store
        return .refuse("the disk that holds \(place) has no room for it. \(advice)\(other).")
    }
}
