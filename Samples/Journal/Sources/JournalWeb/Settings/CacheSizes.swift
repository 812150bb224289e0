public import LFSCache
public import LFSSettings
public import Logging
import ServiceLifecycle

extension StorageKey<Int> {
    /// The number of thumbnails that the cache keeps.
    public static var thumbnailCacheSize: Self { .init("cache.thumbnails", default: 10_000) }
    /// The number of previews that the cache keeps.
    public static var imageCacheSize: Self { .init("cache.images", default: 350) }
    /// The number of covers of albums that the cache keeps.
    public static var albumThumbnailCacheSize: Self { .init("cache.albumThumbnails", default: 200) }
}

/// A service that applies the sizes in the settings to the cache, at the start and after each change.
struct CacheSizes: Service {
    /// The sizes that the settings permit.
    static let range = 0...100_000

    let settings: StorageRouter
    let cache: MediaCache
    let logger: Logger
    /// The delay after a size that cannot be read.
    var retryDelay = Duration.seconds(5)

    private static let keys: [(key: StorageKey<Int>, kind: CacheKind)] = [
        (.thumbnailCacheSize, .thumbnails), (.imageCacheSize, .previews), (.albumThumbnailCacheSize, .albumCovers),
    ]

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                for (key, kind) in Self.keys {
                    group.addTask { await follow(key, kind: kind) }
                }
            }
        }
    }

    private func follow(_ key: StorageKey<Int>, kind: CacheKind) async {
        while !Task.isCancelled {
            do {
                for try await count in settings.values(of: key) {
                    let count = min(max(count, Self.range.lowerBound), Self.range.upperBound)
                    await cache.setLimit(
                        CacheLimit(count: count, byteCount: CacheOptions.byteCount(of: kind)), of: kind)
                }
            } catch {
                // The page with the settings names the key, and the previous limit stays.
                logger.debug("A size of the cache cannot be read.", metadata: ["key": "\(key.name)"])
            }
            try? await Task.sleep(for: retryDelay)
        }
    }
}

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
