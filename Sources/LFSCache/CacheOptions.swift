public import Foundation
public import Logging

/// How a cache is kept.
public struct CacheOptions: Sendable {
    /// The folder of the cache. Its parent has to exist and the folder is made, for this user alone. Nil is the folder
    /// `cache` in the local store beside the database, which a reset of LFS empties at once; any other folder is
    /// emptied when the cache is opened after a reset.
    ///
    /// One folder is for one cache of one database, and for nothing else.
    public var folder: URL?
    /// How much is kept of each kind on the disk. See also ``MediaCache/setLimit(_:of:)``.
    public var limits: [CacheKind: CacheLimit] = [
        .thumbnails: CacheLimit(count: 10_000), .previews: CacheLimit(count: 350),
        .albumCovers: CacheLimit(count: 200, byteCount: 128 << 20),
    ]
    /// How much is kept of each kind in memory, and no more entries than on the disk. An entry counts 256 bytes more
    /// than its content and its name.
    public var memoryLimits: [CacheKind: CacheLimit] = [
        .thumbnails: CacheLimit(count: 10_000, byteCount: 32 << 20),
        .previews: CacheLimit(count: 350, byteCount: 64 << 20),
        .albumCovers: CacheLimit(count: 200, byteCount: 16 << 20),
    ]
    /// The limit on the disk of a kind that ``limits`` does not name.
    public var standardLimit = CacheLimit(count: 1_000, byteCount: 128 << 20)
    /// The limit in memory of a kind that ``memoryLimits`` does not name.
    public var standardMemoryLimit = CacheLimit(count: 1_000, byteCount: 16 << 20)
    /// Where it is logged that the disk failed.
    public var logger = Logger(label: "lfs.cache")

    /// The defaults.
    ///
    /// - Parameter folder: as ``folder``.
    public init(folder: URL? = nil) {
        self.folder = folder
    }

    func limit(of kind: CacheKind) -> CacheLimit { limits[kind] ?? standardLimit }

    /// The limit in memory of a kind with that one on the disk.
    func memoryLimit(of kind: CacheKind, beside limit: CacheLimit) -> CacheLimit {
        var own = memoryLimits[kind] ?? standardMemoryLimit
        own.count = min(own.count, limit.count)
        return own
    }
}
