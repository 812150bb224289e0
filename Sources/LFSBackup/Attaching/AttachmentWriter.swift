import GRDB
import LFS
import LFSDatabase
import LFSSystem

/// Writes the rows of a batch, within one transaction.
struct AttachmentWriter: Sendable {
    let lfs: LFSManager
    let host: BackupHost
    /// Files whose bytes are lost or damaged.
    let unsound: Set<FileData.ID>
    let sendsDeclined: Bool
    let reusesFiles: Bool
    let delay: Duration
    /// Milliseconds since 1970.
    let now: Int64

    /// What became of an original.
    enum Outcome: Sendable {
        case attached(FileData, isShared: Bool)
        /// It was touched, but its content is the same.
        case touched
        case declined
        case failed(String)

        /// Whether a row has the bytes that were made for it.
        var keepsBytes: Bool {
            switch self {
            case .attached(_, let isShared): !isShared
            case .touched, .declined, .failed: false
            }
        }

        func event(_ asset: Asset) -> BackupEvent {
            switch self {
            case .attached(let file, let isShared): .attached(asset, file, isShared: isShared)
            case .touched: .touched(asset)
            case .declined: .declined(asset)
            case .failed(let reason): .failed(asset.id, reason)
            }
        }
    }

    /// Rows are read here, because another backup may have attached the same originals since we looked.
    func write(_ made: [MadeAsset], _ db: Database) throws -> [Outcome] {
        let known = try KnownAssets(made.map(\.asset), host, db)
        return try made.map { made in try write(made, known, db) }
    }

    private func write(_ made: MadeAsset, _ known: KnownAssets, _ db: Database) throws -> Outcome {
        var old: FileData?
        switch known.finding(made.asset) {
        case .unusable(let reason): return .failed(reason)
        case .new: break
        case .declined(let row):
            // Other bytes were never deleted, and a backup without them would lose them.
            if !sendsDeclined, row.sha256 == made.file.sha256, row.byteCount == made.file.byteCount {
                try save(made, fileID: row.fileID, .declined, db)
                return .declined
            }
        case .attached(_, let file, _):
            if hasSameBytes(file, made.file), !unsound.contains(file.id) {
                try save(made, fileID: file.id, .attached, db)
                try host.touch?(made.asset, made.stamp, file, db)
                return .touched
            }
            old = file
        }
        var outcome = Outcome.touched
        do {
            try db.inSavepoint {
                outcome = try attach(made, replacing: old, db)
                return .commit
            }
        } catch let error as BackupError where error.code == .refused {
            return .failed(error.message)
        }
        return outcome
    }

    private func attach(_ made: MadeAsset, replacing old: FileData?, _ db: Database) throws -> Outcome {
        var file = reusesFiles ? try lfs.insertOrReuse(made.file, in: db) : made.file
        // Of one that is there the bytes may be the same by its row, and damaged.
        if !reusesFiles || unsound.contains(file.id) {
            file = made.file
            try file.insert(db)
        }
        let isShared = file.id != made.file.id
        if !isShared, delay > .zero { try JobTable.begin(file.id, notBefore: now + delay.milliseconds, db) }
        try save(made, fileID: file.id, .attached, db)
        try host.insert(BackupAttachment(asset: made.asset, stamp: made.stamp, file: file, replaced: old), db)
        return .attached(file, isShared: isShared)
    }

    private func hasSameBytes(_ file: FileData, _ other: FileData) -> Bool {
        file.sha256 == other.sha256 && file.byteCount == other.byteCount
    }

    private func save(_ made: MadeAsset, fileID: FileData.ID?, _ state: SourceRow.State, _ db: Database) throws {
        try SourceTable.save(
            SourceRow(
                id: made.asset.id.source, stamp: made.stamp.text, byteCount: made.file.byteCount,
                sha256: made.file.sha256, fileID: fileID, state: state), db)
    }
}
