import GRDB
import LFS
import LFSDatabase

/// The rows that the database has for a set of originals.
struct KnownAssets: Sendable {
    let rows: [SourceID: SourceRow]
    /// Their files that still exist.
    let files: [FileData.ID: FileData]
    /// The files whose bytes were found to be lost or damaged.
    let damaged: Set<FileData.ID>
    /// The app's records. Nil if the app does not provide them.
    let records: [AssetName: BackupHost.Record]?

    init(_ assets: [Asset], host: BackupHost, _ db: Database) throws {
        rows = try SourceTable.rows(assets.map(\.id.source), db)
        let ids = Set(rows.values.compactMap(\.fileID))
        let files = try FileTable.rows(ids, db).compactMap(\.readable).map { FileData($0) }
        self.files = Dictionary(files.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        damaged = Set(
            try Upload.all().damaged().filter(ids.contains(Upload.Columns.fileID)).fetchAll(db).map(\.fileID))
        records = try host.records?(assets, db)
    }

    /// The action that an original needs.
    enum Finding: Sendable {
        /// The original was never backed up.
        case new
        /// The original's file or record was deleted. The row describes the deleted bytes.
        case declined(SourceRow)
        /// The original has a file. `isConsistent` is true if the row describes the bytes of that file.
        case attached(SourceRow, FileData, isConsistent: Bool)
        /// The app's record cannot be used.
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
