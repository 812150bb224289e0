public import GRDB
public import LFS

/// The app's closures for a backup. They run within a transaction. Closures that only read may also run concurrently.
public struct BackupHost: Sendable {
    /// The app's record of an original.
    public enum Record: Hashable, Sendable {
        /// A record with this file.
        case present(FileData.ID)
        /// A record that cannot be used, with the reason. The original is reported as failed.
        case unusable(String)
    }

    let insert: @Sendable (BackupAttachment, Database) throws -> Void
    let records: (@Sendable ([Asset], Database) throws -> [AssetName: Record])?
    let fileIDs: (@Sendable ([Asset], Database) throws -> [AssetName: FileData.ID])?
    let touch: (@Sendable (Asset, AssetVersion, FileData, Database) throws -> Void)?
    let entries: (@Sendable ([BackupEntry]) async throws -> Void)?

    /// Creates the closures of an app.
    ///
    /// - Parameters:
    ///   - records: returns the app's records of some originals. An original that was backed up and no longer has a
    ///     record was deleted on purpose, even if its file remains for another record. Pass nil if each record has its
    ///     own file, or is never deleted before that file.
    ///   - fileIDs: returns the files of the app's records, without records that cannot be used. It replaces `records`
    ///     for originals that look unchanged, which are usually almost all. A lookup of two columns makes a backup
    ///     faster. For originals that it omits, `records` is called. Nil always uses `records`.
    ///   - touch: receives the new stamp of an original whose content is unchanged.
    ///   - entries: receives the folders and links of a source with entries, in portions and in the order of the walk.
    ///     It is the only closure that runs outside a transaction.
    ///   - insert: inserts the record of an original, or assigns the new file to the existing record. An error with the
    ///     code ``BackupError/Code/refused`` affects only that original. Any other error ends the backup. The closure
    ///     must only read and write rows, because it runs again if its transaction is rolled back.
    public init(
        records: (@Sendable ([Asset], Database) throws -> [AssetName: Record])? = nil,
        fileIDs: (@Sendable ([Asset], Database) throws -> [AssetName: FileData.ID])? = nil,
        touch: (@Sendable (Asset, AssetVersion, FileData, Database) throws -> Void)? = nil,
        entries: (@Sendable ([BackupEntry]) async throws -> Void)? = nil,
        insert: @escaping @Sendable (BackupAttachment, Database) throws -> Void
    ) {
        self.records = records
        self.fileIDs = fileIDs
        self.touch = touch
        self.entries = entries
        self.insert = insert
    }

    /// Returns the files of the app's records, or nil if the app does not provide its records.
    func files(of assets: [Asset], _ db: Database) throws -> [AssetName: FileData.ID]? {
        if assets.isEmpty { return [:] }
        if let fileIDs { return try fileIDs(assets, db) }
        return try records?(assets, db).compactMapValues { record in
            if case .present(let id) = record { id } else { nil }
        }
    }
}

/// An original and its file.
public struct BackupAttachment: Sendable {
    /// The original.
    public let asset: Asset
    /// The stamp of the original when it was read.
    public let stamp: AssetVersion
    /// The file, which is already inserted. Other records may refer to it, too.
    public let file: FileData
    /// The app's record, as the host has returned it. Nil for an original without one, and if the host returns none.
    public let record: BackupHost.Record?
    /// The file of the previous version. Nil for a new original.
    ///
    /// The new bytes are not on the storage yet, and may wait for days until they are uploaded. Keep the old file as a
    /// version, or delete it only after the new one is `remote`. If a record gets the new file in place of the old one,
    /// `FileData.deletedWithOwner` deletes the old file in the same transaction.
    public let replaced: FileData?
    /// True if the bytes of the previous version are lost: it was not uploaded, and only the original had them. See
    /// ``BackupOptions/copiesOriginals``.
    public let replacedIsLost: Bool
}
