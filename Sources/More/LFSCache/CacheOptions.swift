public import Foundation
public import Logging

/// Options of a cache: its folder, its limits and its logger.
public struct CacheOptions: Sendable {
    /// The folder of the cache. Its parent folder must exist. The cache creates the folder with access for this user
    /// only.
    ///
    /// By default (nil) this is the folder `cache` in the local store next to the database. A reset of LFS empties it
    /// at once. Any other folder is emptied when the cache is opened after a reset.
    ///
    /// A folder holds one cache of one database, and nothing else.
    public var folder: URL?
    /// The limits on the disk for each kind. See also ``MediaCache/setLimit(_:of:)``.
    ///
    /// The defaults are 10,000 entries and 512 MiB for thumbnails, 350 entries and 512 MiB for previews, and 200
    /// entries and 128 MiB for album covers. A kind that is not listed may have 1,000 entries and 128 MiB.
    public var limits: [CacheKind: CacheLimit] = [
        .thumbnails: CacheLimit(count: 10_000), .previews: CacheLimit(count: 350),
        .albumCovers: CacheLimit(count: 200, byteCount: 128 << 20),
    ]
    /// The limits in memory for each kind. Memory never holds more entries than the disk. Each entry costs 256 bytes in
    /// addition to its content and its name.
    ///
    /// The defaults have the same numbers of entries as on the disk, with 32 MiB for thumbnails, 64 MiB for previews,
    /// and 16 MiB for album covers. A kind that is not listed may have 1,000 entries and 16 MiB.
    public var memoryLimits: [CacheKind: CacheLimit] = [
        .thumbnails: CacheLimit(count: 10_000, byteCount: 32 << 20),
        .previews: CacheLimit(count: 350, byteCount: 64 << 20),
        .albumCovers: CacheLimit(count: 200, byteCount: 16 << 20),
    ]
    /// The disk limit of kinds that ``limits`` does not list.
    package var standardLimit = CacheLimit(count: 1_000, byteCount: 128 << 20)
    /// The memory limit of kinds that ``memoryLimits`` does not list.
    package var standardMemoryLimit = CacheLimit(count: 1_000, byteCount: 16 << 20)
    /// The logger for failures of the disk.
    public var logger = Logger(label: "lfs.cache")

    /// Creates options with the default values.
    ///
    /// - Parameter folder: the value of ``folder``.
    public init(folder: URL? = nil) {
        self.folder = folder
    }

    func limit(of kind: CacheKind) -> CacheLimit { limits[kind] ?? standardLimit }

    /// The memory limit of a kind that has the given limit on the disk.
    func memoryLimit(of kind: CacheKind, beside limit: CacheLimit) -> CacheLimit {
        var own = memoryLimits[kind] ?? standardMemoryLimit
        own.count = min(own.count, limit.count)
        return own
    }
}
