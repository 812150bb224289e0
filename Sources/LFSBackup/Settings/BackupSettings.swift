public import Foundation
public import LFSSettings

extension StorageKey<Bool> {
    /// Whether the app backs up by itself. Off until a person switches it on.
    public static var backupAutomatic: Self { .init("backup.automatic", default: false) }
    /// Whether it does so in the background, too.
    public static var backupBackground: Self { .init("backup.background", default: false) }
    /// Whether uploads wait for a network that is not metered.
    public static var backupRequiresWiFi: Self { .init("backup.requiresWiFi", default: true) }
    /// Whether uploads wait for mains power.
    public static var backupRequiresCharging: Self { .init("backup.requiresCharging", default: false) }
}

extension StorageKey<Duration> {
    /// How long the upload of a new file waits, from nothing to ``BackupOptions/longestDelay``.
    public static var backupDelay: Self { .init("backup.delay", default: .zero, serializer: .backupDelay) }
}

extension StorageKey<[BackupGroup]> {
    /// The folders or albums, and which of them are backed up.
    public static var backupGroups: Self { .init("backup.groups", default: []) }
}

extension SettingSerializer<Duration> {
    /// Whole milliseconds as a decimal number.
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

/// A delay that is negative or longer than a day.
struct DelayOutOfRange: Error, CustomStringConvertible {
    var description: String { "The delay of a backup is from 0 to 24 hours." }
}

/// The settings of a backup, and what they mean.
public enum BackupSettings {
    /// Its keys. A router is opened with it beside the app's own catalogs.
    public static let catalog = StorageCatalog("lfs.backup") {
        StorageKey<Bool>.backupAutomatic
        StorageKey<Bool>.backupBackground
        StorageKey<Bool>.backupRequiresWiFi
        StorageKey<Bool>.backupRequiresCharging
        StorageKey<Duration>.backupDelay
        StorageKey<[BackupGroup]>.backupGroups
    }

    /// What has to hold before an upload begins, for ``UploadGate``.
    ///
    /// - Throws: `SettingsError`.
    public static func conditions(_ storage: StorageRouter) async throws -> UploadConditions {
        var conditions: UploadConditions = []
        if try await storage.get(.backupRequiresWiFi) { conditions.insert(.unmetered) }
        if try await storage.get(.backupRequiresCharging) { conditions.insert(.mains) }
        return conditions
    }

    /// Notes that groups were backed up whole. Groups that are not listed any more are left out.
    ///
    /// - Throws: `SettingsError`.
    public static func noteBackup(of ids: Set<BackupGroup.ID>, at time: Date, _ storage: StorageRouter) async throws {
        _ = try await storage.update(.backupGroups) { groups in
            for index in groups.indices where ids.contains(groups[index].id) { groups[index].lastBackup = time }
        }
    }
}
