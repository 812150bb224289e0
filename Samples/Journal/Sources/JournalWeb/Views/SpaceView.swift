import LFSCache
import LFSSettings

/// The settings of the caches and of the clean-up as a form. The default is shown for a value that cannot be read.
struct SpaceView: Sendable {
    let sizes: [Size]
    let keepsFavorites: SettingsView.Toggle
    let types: String
    let days: Int
    let mostDays = CleanupRules.days.upperBound
    /// The number of albums whose pictures stay, as a sentence.
    let albums: String
    /// The content of the cache in words. Nil without a cache.
    let cached: String?
    /// The names of the keys whose values cannot be read.
    private(set) var unreadable: [String] = []

    struct Size: Sendable {
        let name: String
        let label: String
        let count: Int
        let most = CacheSizes.range.upperBound
    }

    init(_ snapshot: SettingsSnapshot, usage: CacheUsage?) {
        var unreadable: [String] = []
        func value<Value>(_ key: StorageKey<Value>) -> Value? {
            do {
                return try snapshot.get(key)
            } catch {
                unreadable.append(key.name)
                return key.defaultValue
            }
        }
        sizes = [
            Size(name: "thumbnails", label: "Thumbnails", count: value(.thumbnailCacheSize) ?? 0),
            Size(name: "images", label: "Previews", count: value(.imageCacheSize) ?? 0),
            Size(name: "covers", label: "Covers of albums", count: value(.albumThumbnailCacheSize) ?? 0),
        ]
        keepsFavorites = SettingsView.Toggle(
            "favorites", isOn: value(.cleanupKeepsFavorites) ?? true, label: "Favourites stay on this device",
            hint: "Also when space is freed.")
        types = (value(.cleanupContentTypes) ?? []).joined(separator: ", ")
        days = value(.cleanupDays) ?? 0
        let kept = value(.cleanupAlbums) ?? []
        albums = "The pictures of \(Words.count(kept.count, one: "album", more: "albums")) stay on this device."
        cached = usage.map { usage in
            let disk = usage.kinds.values.map(\.disk)
            let entries = Words.count(disk.map(\.count).reduce(0, +), one: "picture", more: "pictures")
            return "\(entries) with \(Words.bytes(Int64(disk.map(\.byteCount).reduce(0, +))))"
        }
        self.unreadable = unreadable
    }
}
