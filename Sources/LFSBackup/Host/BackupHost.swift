public import GRDB
public import LFS

/// The app's side of a backup: what it does with originals that come in. Its closures run within a transaction, and
/// those that only look something up also beside each other.
public struct BackupHost: Sendable {
    /// What the app has of an original.
    public enum Record: Hashable, Sendable {
        /// A record with this file.
        case present(FileData.ID)
        /// A record that cannot be used, with the reason: the original is told as failed.
        case unusable(String)
    }

    let insert: @Sendable (BackupAttachment, Database) throws -> Void
    let records: (@Sendable ([Asset], Database) throws -> [AssetName: Record])?
    let fileIDs: (@Sendable ([Asset], Database) throws -> [AssetName: FileData.ID])?
    let touch: (@Sendable (Asset, AssetStamp, FileData, Database) throws -> Void)?
    let entries: (@Sendable ([BackupEntry]) async throws -> Void)?

    /// What the app does.
    ///
    /// - Parameters:
    ///   - records: what the app has of some originals. One that was backed up and has no record any more was deleted
    ///     on purpose, also where its file is there still for another record. Nil where each record has a file of its
    ///     own, or does not go before it.
    ///   - fileIDs: which files the records of some originals have, without those records that cannot be used. It is
    ///     asked in the place of `records` about what looks unchanged, which is nearly all, most of the time: a look-up
    ///     of two columns makes a backup faster. About those that it leaves out `records` is asked. Nil for `records`
    ///     alone.
    ///   - touch: takes the stamp of an original that has the content of its file and looks otherwise than it did.
    ///   - entries: takes the folders and links of a source that has them, some at a time and in the order of the walk.
    ///     It is the one closure that runs in no transaction.
    ///   - insert: writes the record of an original, or gives the one that is there its new file. An error of the code
    ///     ``BackupError/Code/refused`` concerns that original alone; every other one ends the backup.
    public init(
        records: (@Sendable ([Asset], Database) throws -> [AssetName: Record])? = nil,
        fileIDs: (@Sendable ([Asset], Database) throws -> [AssetName: FileData.ID])? = nil,
        touch: (@Sendable (Asset, AssetStamp, FileData, Database) throws -> Void)? = nil,
        entries: (@Sendable ([BackupEntry]) async throws -> Void)? = nil,
        insert: @escaping @Sendable (BackupAttachment, Database) throws -> Void
    ) {
        (self.records, self.fileIDs, self.touch) = (records, fileIDs, touch)
        (self.entries, self.insert) = (entries, insert)
    }

    /// The files that the records of some originals have; nil where the app does not tell.
    func files(of assets: [Asset], _ db: Database) throws -> [AssetName: FileData.ID]? {
        if assets.isEmpty { return [:] }
        if let fileIDs { return try fileIDs(assets, db) }
        return try records?(assets, db).compactMapValues { record in
            if case .present(let id) = record { id } else { nil }
        }
    }
}

/// An original and the file that has its bytes.
public struct BackupAttachment: Sendable {
    /// The original.
    public let asset: Asset
    /// How it looked when it was read.
    public let stamp: AssetStamp
    /// The file, which is inserted already. Another record may have it, too.
    public let file: FileData
    /// The file of an earlier version; nil for an original that is new. With
    /// `FileData.deletedWithOwner` it goes by itself once the record has the new one.
    public let replaced: FileData?
}
