public import LFSCache
public import Logging

extension CacheOptions {
    /// Returns the limits of the journal's thumbnails and previews. Few of them are kept in memory, since browsers
    /// cache pictures.
    ///
    /// - Parameter logger: The logger for failures of the disk.
    public static func journal(logger: Logger) -> CacheOptions {
        var options = CacheOptions()
        options.limits[.thumbnails] = CacheLimit(count: 10_000, byteCount: 256 << 20)
        options.limits[.previews] = CacheLimit(count: 350, byteCount: 128 << 20)
        options.memoryLimits[.thumbnails] = CacheLimit(count: 500, byteCount: 4 << 20)
        options.memoryLimits[.previews] = CacheLimit(count: 8, byteCount: 4 << 20)
        options.logger = logger
        return options
    }
}
