public import LFSCache
public import Logging

extension CacheOptions {
    /// Returns the limits of the journal's thumbnails and previews. Few of them are kept in memory, since browsers
    /// cache pictures.
    ///
    /// - Parameter logger: The logger for failures of the disk.
    public static func journal(logger: Logger) -> CacheOptions {
        var options = CacheOptions()
        for (kind, limit) in options.limits {
            options.limits[kind] = CacheLimit(count: limit.count, byteCount: byteCount(of: kind))
        }
        options.memoryLimits[.thumbnails] = CacheLimit(count: 500, byteCount: 4 << 20)
        options.memoryLimits[.previews] = CacheLimit(count: 8, byteCount: 4 << 20)
        options.logger = logger
        return options
    }

    /// Returns the maximum number of bytes of a kind on the disk. ``CacheSizes`` sets the number of entries.
    static func byteCount(of kind: CacheKind) -> Int { kind == .thumbnails ? 256 << 20 : 128 << 20 }
}
