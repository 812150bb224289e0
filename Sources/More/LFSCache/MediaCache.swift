import Foundation
public import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// A cache of thumbnails, previews and other reproducible bytes, in memory and on the disk.
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
/// The cache only returns content that was stored under exactly this key, or was just loaded. It verifies the checksum
/// of an entry on each read from the disk, and drops entries that do not match. A cache belongs to a database and its
/// last reset. If either changes, the cache starts empty.
///
/// If the disk is full, damaged or slow, the cache still delivers content. ``CacheUsage/failures`` counts the failures.
/// Several processes may have a cache open. A removal applies to the disk and to the memory of the removing process.
///
/// Each layer owns its state. No task keeps running.
public final class MediaCache: Sendable {
    let memory: MemoryLayer
    let disk: DiskLayer
    let flights = InFlightLoads()
    let failures: FailureLog
    private let options: CacheOptions
    private let limits: Mutex<[CacheKind: CacheLimit]>
    let diskHits = Atomic(0)
    let loads = Atomic(0)

    // MARK: Opening and closing

    /// Opens the cache of a database, and creates it if it is missing.
    ///
    /// First, entries are removed that are damaged, belong to another database, or are older than a reset of this one.
    ///
    /// - Parameters:
    ///   - database: the app's database, with the tables of LFS. The cache only reads it.
    ///   - options: the folder and the limits.
    /// - Throws: ``CacheError/Code/notMigrated``, ``CacheError/Code/wrongFolder``,
    ///   ``CacheError/Code/permissionDenied``, ``CacheError/Code/inUse``, and `CancellationError`.
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
                        .notMigrated, message: "A database in memory has no folder. Set CacheOptions.folder.",
                        path: ""
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
            let disk = try await OpeningCache.open(folder, failures: failures) {
                try await database.readOnQueue { db in try CacheIdentity.read(db).identity }
            }
            return MediaCache(options, disk: disk, failures: failures)
        } catch {
            throw CacheError.opening(error, at: path)
        }
    }

    private init(_ options: CacheOptions, disk: DiskLayer, failures: FailureLog) {
        self.options = options
        self.disk = disk
        self.failures = failures
        limits = Mutex(options.limits)
        let kinds = Set(options.limits.keys).union(options.memoryLimits.keys)
        memory = MemoryLayer(
            Dictionary(
                uniqueKeysWithValues: kinds.map { kind in
                    (kind, options.memoryLimit(of: kind, beside: options.limit(of: kind)))
                }),
            standard: options.standardMemoryLimit)
    }

    /// Closes the cache. Waits for writes in progress, and releases the folder for a reset. Loads in progress continue,
    /// but their results are not kept. A closed cache finds no entries, and loads all requested content.
    public func close() async {
        await disk.close(memory.takeUses())
        memory.removeAll()
    }

    // MARK: Limits

    /// Sets the limit of a kind, and evicts entries that exceed it at once.
    ///
    /// - Parameters:
    ///   - limit: the limit on the disk. Memory keeps no more entries than it allows.
    ///   - kind: the kind to which the limit applies.
    public func setLimit(_ limit: CacheLimit, of kind: CacheKind) async {
        let limit = CacheLimit(count: limit.count, byteCount: limit.byteCount)
        limits.withLock { $0[kind] = limit }
        memory.setLimit(options.memoryLimit(of: kind, beside: limit), of: kind)
        memory.remove(await disk.shrink(kind, to: limit) { [memory] in memory.takeUses(kind) })
    }

    func limit(of kind: CacheKind) -> CacheLimit { limits.withLock { $0[kind] } ?? options.standardLimit }

    /// Releases the memory, for example when the system is short of it. The entries on the disk stay.
    public func dropMemory() { memory.dropAll() }

    // MARK: Usage

    /// Returns the content of the cache, and its statistics since it was opened.
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
        usage.failures = counts.failures
        usage.damagedEntries = counts.damaged
        usage.lastFailure = counts.last
        return usage
    }
}
