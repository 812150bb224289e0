public import GRDB
import JournalStorage
import LFS
import LFSBackup
public import LFSSettings
import LFSStorage

/// A removal of the data of a journal from this device. Objects on the storage and rows on the sync server stay.
public enum JournalRemoval: String, Hashable, Sendable, CaseIterable {
    /// Log out: the records, the pictures, the account and the secrets are removed. Settings of the view and of space
    /// stay.
    case account
    /// Full reset: the settings are removed too.
    case everything

    /// Removes the data of a database that no server has open. After an error, the removal can be repeated. The next
    /// opening finishes a removal that a crash has interrupted.
    ///
    /// - Parameters:
    ///   - database: A database of `DatabaseStorageService.openDatabase(at:)`. It is closed in any case.
    ///   - settings: The settings of this database.
    ///   - confirm: A closure that receives the number of pictures that will be lost because they are not on the
    ///     storage. Nothing is removed if it throws.
    /// - Throws: The error of the closure. `LFSError.Code.openElsewhere` while a server has the journal open.
    ///   `SettingsError`, for example without the folder of the secrets.
    public func perform(
        _ database: DatabasePool, settings: StorageRouter, confirming confirm: (_ lost: Int) throws -> Void
    ) async throws {
        // The storage is not used, since a removal concerns this device only.
        let journal = try await DatabaseStorageService.open(database, options: LFSOptions(storage: InMemoryStorage()))
        let result: Result<Void, any Error>
        do {
            let lost = try await journal.lfs.filesLostByReset()
            try confirm(lost)
            try await remove(journal, settings: settings, losing: lost)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try await settings.stop()
        try await journal.close()
        try result.get()
    }

    private func remove(_ journal: DatabaseStorageService, settings: StorageRouter, losing lost: Int) async throws {
        // Nothing is removed without the folder of the secrets.
        _ = try await settings.exists(.accessToken)
        try await journal.lfs.reset(.loseFilesThatAreNotUploaded(lost)) { [self] db in
            try DatabaseStorageService.eraseAll(db)
            switch self {
            case .account:
                try AccountSettings.remove(settings, in: db)
                try settings.remove(.endedSessions, in: db)
                // These name folders and albums of the user.
                try settings.remove(.backupGroups, in: db)
                try settings.remove(.cleanupAlbums, in: db)
                // The secrets are removed after the commit, since the reset may be refused before it.
                try settings.set(true, for: .hasSecretsToRemove, in: db)
            case .everything: try settings.removeAll(in: db)
            }
        }
        // Finishes the removal of values outside the database.
        switch self {
        case .account: try await JournalSecrets.finishRemoval(settings)
        case .everything: try await settings.removeAll()
        }
        // Values that were changed earlier have left bytes in pages that are still used.
        try await journal.database.vacuum()
    }
}
