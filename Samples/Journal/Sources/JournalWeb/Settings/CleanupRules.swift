import JournalStorage
import LFS
public import LFSSettings

extension StorageKey<Bool> {
    /// Indicates that the pictures of favourites stay on this device when space is freed.
    public static var cleanupKeepsFavorites: Self { .init("cleanup.keepsFavorites", default: true) }
}

extension StorageKey<[String]> {
    /// The media types, such as `image/png` or `video/*`, whose files stay on this device when space is freed.
    public static var cleanupContentTypes: Self { .init("cleanup.keepsContentTypes", default: []) }
    /// The ids of the albums whose pictures stay on this device when space is freed.
    public static var cleanupAlbums: Self { .init("cleanup.keepsAlbums", default: []) }
}

extension StorageKey<Int> {
    /// The number of days for which a picture stays on this device after its last use. 0 for no such rule.
    public static var cleanupDays: Self { .init("cleanup.keepsDays", default: 0) }
}

/// The rules in the settings for the local copies that stay on this device when space is freed.
enum CleanupRules {
    /// The numbers of days that the settings permit.
    static let days = 0...36_500

    /// Returns the policy of an eviction with the present rules.
    ///
    /// - Parameter maxByteCount: The maximum size of the local copies in bytes.
    /// - Throws: `SettingsError` if a rule cannot be read, so that nothing is freed that it would keep.
    static func policy(_ settings: StorageRouter, maxByteCount: Int64) async throws -> EvictionPolicy {
        var policy = EvictionPolicy(maxByteCount: maxByteCount)
        policy.keepsContentTypes = try await settings.get(.cleanupContentTypes)
        let days = try await settings.get(.cleanupDays)
        if days > 0 { policy.keepsUsedWithin = .seconds(min(days, Self.days.upperBound) * 86_400) }
        let albums = try await settings.get(.cleanupAlbums)
        if !albums.isEmpty { policy.keep { DatabaseStorageService.files(inAlbums: albums) } }
        if try await settings.get(.cleanupKeepsFavorites) { policy.keep { DatabaseStorageService.favorites() } }
        return policy
    }
}
