public import GRDB
public import LFSSettings

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
    ///   - options: where secrets are.
    /// - Throws: `SettingsError`.
    public static func open(
        _ database: any DatabaseWriter, options: StorageOptions = StorageOptions()
    ) async throws -> StorageRouter {
        try await StorageRouter.open(database, catalogs: [catalog], options: options)
    }
}
