public import Foundation
public import LFSSettings

extension StorageKey<Bool> {
    /// The setting for automatic backups. Off by default.
    public static var backupAutomatic: Self { .init("backup.automatic", default: false) }
    /// The setting that lets uploads wait for an unmetered network. On by default.
    public static var backupRequiresWiFi: Self { .init("backup.requiresWiFi", default: true) }
    /// The setting that lets uploads wait for mains power. Off by default.
    public static var backupRequiresCharging: Self { .init("backup.requiresCharging", default: false) }
}

extension StorageKey<Duration> {
    /// The delay of the upload of a new file, from zero (the default) to ``BackupOptions/longestDelay``.
    public static var backupDelay: Self { .init("backup.delay", default: .zero, serializer: .backupDelay) }
}

extension StorageKey<[BackupGroup]> {
    /// The folders or albums, with their backup modes.
    public static var backupGroups: Self { .init("backup.groups", default: []) }
}

extension SettingSerializer<Duration> {
    /// A serializer that stores whole milliseconds as a decimal number.
    fileprivate static var backupDelay: Self {
        .custom(
            id: "lfs.milliseconds",
            encode: { value in
                guard (.zero...BackupOptions.longestDelay).contains(value) else { throw DelayOutOfRange() }
                let (seconds, rest) = value.components
                return Data("\(seconds * 1_000 + rest / 1_000_000_000_000_000)".utf8)
            },
            decode: { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                guard let number = Int64(text), number >= 0, .milliseconds(number) <= BackupOptions.longestDelay else {
                    throw DelayOutOfRange()
                }
                return .milliseconds(number)
            })
    }
}

/// An error for a delay that is negative or longer than a day.
struct DelayOutOfRange: Error, CustomStringConvertible {
    var description: String { "The delay of a backup must be from 0 to 24 hours." }
}

/// The settings of a backup, and functions that apply them.
public enum BackupSettings {
    /// The keys of the settings. Open a router with this catalog, next to the app's own catalogs.
    public static let catalog = StorageCatalog("lfs.backup") {
        StorageKey<Bool>.backupAutomatic
        StorageKey<Bool>.backupRequiresWiFi
        StorageKey<Bool>.backupRequiresCharging
        StorageKey<Duration>.backupDelay
        StorageKey<[BackupGroup]>.backupGroups
    }

    /// Returns the conditions for uploads from the settings, for ``UploadGate``.
    ///
    /// - Throws: `SettingsError`.
    public static func conditions(_ storage: StorageRouter) async throws -> UploadConditions {
        var conditions: UploadConditions = []
        if try await storage.get(.backupRequiresWiFi) { conditions.insert(.unmetered) }
        if try await storage.get(.backupRequiresCharging) { conditions.insert(.mains) }
        return conditions
    }

    /// Records the time of a complete backup of groups. Ignores groups that are no longer in the settings.
    ///
    /// - Throws: `SettingsError`.
    public static func noteBackup(of ids: Set<BackupGroup.ID>, at time: Date, _ storage: StorageRouter) async throws {
        _ = try await storage.update(.backupGroups) { groups in
            for index in groups.indices where ids.contains(groups[index].id) { groups[index].lastBackup = time }
        }
    }
}
