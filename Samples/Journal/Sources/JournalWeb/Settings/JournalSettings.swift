import Foundation
public import GRDB
import LFSBackup
public import LFSSettings
import LFSStorage
public import Logging

/// The settings of a journal, in its own database.
public enum JournalSettings {
    private static let catalog = StorageCatalog("journal") {
        // The view.
        StorageKey<ThemeMode>.themeMode
        StorageKey<PrimaryColor>.primaryColor
        StorageKey<Bool>.colorfulInterface
        StorageKey<Int>.tilesPerRow
        StorageKey<Bool>.dynamicLayout
        StorageKey<PictureGrouping>.groupPicturesBy
        StorageKey<Bool>.storageIndicator
        StorageKey<Bool>.loadPreview
        StorageKey<Bool>.loadOriginal
        // The caches, and the clean-up.
        StorageKey<Int>.thumbnailCacheSize
        StorageKey<Int>.imageCacheSize
        StorageKey<Int>.albumThumbnailCacheSize
        StorageKey<Bool>.cleanupKeepsFavorites
        StorageKey<[String]>.cleanupContentTypes
        StorageKey<[String]>.cleanupAlbums
        StorageKey<Int>.cleanupDays
        // The account, and the secrets with their companions.
        StorageKey<String>.accountServerURL
        StorageKey<String>.accountEndpoint
        StorageKey<String>.accountUser
        StorageKey<String>.accessToken
        StorageKey<StorageCredentials>.storageCredentials
        StorageKey<ClientCertificate>.clientCertificate
        StorageKey<Data>.sessionSecret
        StorageKey<[String: Int]>.endedSessions
        StorageKey<Bool>.hasSecretsToRemove
    }

    /// Opens the settings, and finishes a removal of secrets that was interrupted.
    ///
    /// - Parameters:
    ///   - database: A database that `DatabaseStorageService` has migrated.
    ///   - secrets: The folder of the secrets. A problem there is an error of the call that reads a secret, not of this
    ///     call.
    ///   - isRepair: True if the settings are used to repair the folder of the secrets. The removal is left to the
    ///     next opening then.
    ///   - logger: The logger for events that concern no call.
    /// - Throws: `SettingsError`, ``WebError/Code/unusableFile``.
    public static func open(
        _ database: any DatabaseWriter, secrets folder: SecretsFolder, isRepair: Bool = false, logger: Logger? = nil
    ) async throws -> StorageRouter {
        let options = StorageOptions(keychain: try folder.keychain(), logger: logger)
        let settings = try await StorageRouter.open(
            database, catalogs: [catalog, BackupSettings.catalog], options: options)
        // Without this, the server would go on with the secrets of a user who has logged out.
        if !isRepair { try await JournalSecrets.finishRemoval(settings) }
        return settings
    }
}
