import Foundation
public import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// Thumbnails, previews and other bytes that can be had again, in memory and on the disk.
///
/// ```swift
/// let cache = try await MediaCache.open(for: database)
/// let key = CacheKey(.thumbnails, "\(photo.id)/256")
/// let picture = try await cache.content(for: key, tags: [.asset("\(photo.id)")]) {
///     try await makeThumbnail(of: photo)
/// }
/// try await cache.invalidate(.asset("\(photo.id)"))
/// ```
///
/// What it gives has been stored under the very key, or was just loaded: an entry is held against its checksum when it
/// is read, and one that does not agree is dropped. It is bound to the database and its last reset, and with any other
/// it begins empty.
///
/// The disk may be full, damaged or slow: content comes nevertheless, and ``CacheUsage/failures`` counts it. Several
/// processes may have it open. A removal counts for the disk and for the memory of this one.
///
/// Owner of its state: its layers, each for itself. No task is left running.
public final class MediaCache: Sendable {
    let memory: MemoryLayer
    let disk: DiskLayer
    let flights = Flights()
    let failures: FailureLog
    private let options: CacheOptions
    private let limits: Mutex<[CacheKind: CacheLimit]>
    let diskHits = Atomic(0)
    let loads = Atomic(0)

    // MARK: Opening and closing

    /// Opens the cache of a database, and makes it if there is none.
    ///
    /// What was left there by another database, by this one before a reset, or damaged, is removed first.
    ///
    /// - Parameters:
    ///   - database: the app's database, with the tables of LFS. It is read here only.
    ///   - options: where the cache is, and how much it keeps.
    /// - Throws: ``CacheError/Code/notMigrated``, ``CacheError/Code/wrongFolder``,
    ///   ``CacheError/Code/permissionDenied``, ``CacheError/Code/inUse``; `CancellationError`.
    public static func open(
        for database: any DatabaseReader, options: CacheOptions = CacheOptions()
    ) async throws -> MediaCache {
        let failures = FailureLog(options.logger)
        var path = options.folder?.absoluteURL.path ?? ""
        do {
            let databasePath = try await database.readOnQueue { db in try CacheIdentity.read(db).path }
            if path.isEmpty {
                guard !databasePath.isEmpty else {
                    throw CacheError(
                        .notMigrated, "A database in memory has no folder beside it. Set CacheOptions.folder.", path: ""
                    )
                }
                path = databasePath + ".lfs/" + CacheFolder.name
            }
            let (store, name) = (databasePath + ".lfs", path)
            let isInStore = options.folder == nil
            let folder = try await BlockingPool.shared.run { _ in
                if isInStore { _ = try Directory.openOrMake(store) }
                return try CacheFolder(at: name)
            }
            let disk = try await OpeningCache.open(folder, failures) {
                try await database.readOnQueue { db in try CacheIdentity.read(db).identity }
            }
            return MediaCache(options, disk, failures)
        } catch {
            throw CacheError.opening(error, at: path)
        }
    }

    private init(_ options: CacheOptions, _ disk: DiskLayer, _ failures: FailureLog) {
        (self.options, self.disk, self.failures) = (options, disk, failures)
        limits = Mutex(options.limits)
        let kinds = Set(options.limits.keys).union(options.memoryLimits.keys)
        memory = MemoryLayer(
            Dictionary(
                uniqueKeysWithValues: kinds.map { kind in
                    (kind, options.memoryLimit(of: kind, beside: options.limit(of: kind)))
                }),
            standard: options.standardMemoryLimit)
    }

    /// Ends it: what is being written is waited for, and the folder is free for a reset. Loads under way go on, and
    /// keep nothing. From then on nothing is found, and whatever is asked for is loaded.
    public func close() async {
        await disk.close(memory.takeUses())
        memory.removeAll()
    }

    // MARK: Limits

    /// Sets how much is kept of a kind, and evicts at once what is too much.
    ///
    /// - Parameters:
    ///   - limit: that on the disk; memory keeps no more entries than it.
    ///   - kind: the kind that it counts for.
    public func setLimit(_ limit: CacheLimit, of kind: CacheKind) async {
        let limit = CacheLimit(count: limit.count, byteCount: limit.byteCount)
        limits.withLock { $0[kind] = limit }
        memory.setLimit(options.memoryLimit(of: kind, beside: limit), of: kind)
        memory.remove(await disk.shrink(kind, to: limit) { [memory] in memory.takeUses(kind) })
    }

    func limit(of kind: CacheKind) -> CacheLimit { limits.withLock { $0[kind] } ?? options.standardLimit }

    /// Gives the memory back, as when the system is short of it. What is on the disk stays.
    public func dropMemory() { memory.dropAll() }

    // MARK: Usage

    /// What it holds, and how it fares since it was opened.
    public func usage() async -> CacheUsage {
        var usage = CacheUsage()
        for (kind, total) in await disk.totals() {
            usage.kinds[kind, default: .init()].disk = .init(count: total.count, byteCount: total.byteCount)
        }
        for (kind, held) in memory.usage() {
            usage.memoryHits += held.hits
            guard held.count > 0 else { continue }
            usage.kinds[kind, default: .init()].memory = .init(count: held.count, byteCount: held.byteCount)
        }
        usage.diskHits = diskHits.load(ordering: .relaxed)
        usage.loads = loads.load(ordering: .relaxed)
        let counts = failures.counts
        (usage.failures, usage.damagedEntries, usage.lastFailure) = (counts.failures, counts.damaged, counts.last)
        return usage
    }
}
