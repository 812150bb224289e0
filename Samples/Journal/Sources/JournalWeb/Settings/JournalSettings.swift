public import GRDB
import LFSBackup
public import LFSSettings
public import Logging

/// The settings of a journal, in its own database.
public enum JournalSettings {
    /// What whoever looks at the journal chooses.
    public static let catalog = StorageCatalog("journal.view") {
        StorageKey<ThemeMode>.themeMode
        StorageKey<PrimaryColor>.primaryColor
        StorageKey<Bool>.colorfulInterface
        StorageKey<Int>.tilesPerRow
        StorageKey<Bool>.dynamicLayout
        StorageKey<PictureGrouping>.groupPicturesBy
        StorageKey<Bool>.storageIndicator
        StorageKey<Bool>.loadPreview
        StorageKey<Bool>.loadOriginal
    }

    /// Opens them.
    ///
    /// - Parameters:
    ///   - database: one that `DatabaseStorageService` has migrated.
    ///   - secrets: where those are that nobody else may know. What is not in order there is an error of who asks for
    ///     one, and not of this call.
    ///   - logger: takes what concerns no call.
    /// - Throws: `SettingsError`, ``WebError/Code/unusableFile``.
    public static func open(
        _ database: any DatabaseWriter, secrets folder: SecretsFolder, logger: Logger? = nil
    ) async throws -> StorageRouter {
        let options = StorageOptions(keychain: try folder.keychain(), logger: logger)
        return try await StorageRouter.open(
            database, catalogs: [catalog, JournalSecrets.catalog, BackupSettings.catalog], options: options)
    }
}
