import GRDB
import LFS
import LFSDatabase

/// What the database knows of some originals.
struct KnownAssets: Sendable {
    let rows: [SourceID: SourceRow]
    /// Their files, as far as they are there.
    let files: [FileData.ID: FileData]
    /// Those of the files whose bytes were found to be lost or damaged.
    let damaged: Set<FileData.ID>
    /// What the app has of them; nil where it does not tell.
    let records: [AssetName: BackupHost.Record]?

    init(_ assets: [Asset], _ host: BackupHost, _ db: Database) throws {
        rows = try SourceTable.rows(assets.map(\.id.source), db)
        let ids = Set(rows.values.compactMap(\.fileID))
        let files = try FileTable.rows(ids, db).compactMap(\.readable).map { FileData($0) }
        self.files = Dictionary(files.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        damaged = Set(
            try Upload.all().damaged().filter(ids.contains(Upload.Columns.fileID)).fetchAll(db).map(\.fileID))
        records = try host.records?(assets, db)
    }

    /// What there is to do about an original.
    enum Finding: Sendable {
        /// It was never backed up.
        case new
        /// Its file, or its record, was deleted; the row says which bytes that were.
        case declined(SourceRow)
        /// It has a file, whose bytes the row describes or does not.
        case attached(SourceRow, FileData, isConsistent: Bool)
        /// Of the app's record.
        case unusable(String)
    }

    func finding(_ asset: Asset) -> Finding {
        let record = records?[asset.id]
        if case .unusable(let reason) = record { return .unusable(reason) }
        guard let row = rows[asset.id.source] else { return .new }
        let hasNoRecord = records != nil && record == nil
        if row.state == .declined || hasNoRecord { return .declined(row) }
        guard let id = row.fileID, let file = files[id] else { return .new }
        if case .present(let other) = record, other != id { return .new }
        let isConsistent = file.sha256 == row.sha256 && file.byteCount == row.byteCount
        return .attached(row, file, isConsistent: isConsistent)
    }
}
