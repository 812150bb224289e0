import GRDB
import LFS
import LFSDatabase
import LFSSystem

/// Writes the rows of a batch within one transaction.
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

    /// The result for one original.
    enum Outcome: Sendable {
        case attached(FileData, isShared: Bool)
        /// The original was touched, but its content is unchanged.
        case touched
        case declined
        case failed(String)

        /// True if a row refers to the file that was made for the original.
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

    /// Reads the rows again, because another backup may have attached the same originals since the lookup.
    ///
    /// - Parameter isolated: reports an original that the app refuses as failed. Otherwise its error is thrown, and the
    ///   transaction has to be rolled back.
    func write(_ made: [MadeAsset], isolated: Bool, _ db: Database) throws -> [Outcome] {
        let known = try KnownAssets(made.map(\.asset), host: host, db)
        var contents = try FileTable.existing(checksums: made.map(\.file.sha256), db)
        return try made.map { made in
            let isKnownContent = !contents.insert(made.file.sha256).inserted
            return try write(made, known: known, mayReuse: reusesFiles && isKnownContent, isolated: isolated, db)
        }
    }

    private func write(
        _ made: MadeAsset, known: KnownAssets, mayReuse: Bool, isolated: Bool, _ db: Database
    ) throws -> Outcome {
        let record = known.records?[made.asset.id]
        var old: FileData?
        switch known.finding(made.asset) {
        case .unusable(let reason): return .failed(reason)
        case .new: break
        case .declined(let row):
            // Different bytes were never deleted. A backup without them would lose them.
            if !sendsDeclined, row.sha256 == made.file.sha256, row.byteCount == made.file.byteCount {
                try save(made, fileID: row.fileID, state: .declined, db)
                return .declined
            }
        case .attached(_, let file, _):
            if hasSameBytes(file, other: made.file), !unsound.contains(file.id) {
                try save(made, fileID: file.id, state: .attached, db)
                try host.touch?(made.asset, made.stamp, file, db)
                return .touched
            }
            old = file
        }
        guard isolated else {
            return try attach(made, record: record, replacing: old, mayReuse: mayReuse, db)
        }
        var outcome = Outcome.touched
        do {
            try db.inSavepoint {
                outcome = try attach(made, record: record, replacing: old, mayReuse: mayReuse, db)
                return .commit
            }
        } catch let error as BackupError where error.code == .refused {
            return .failed(error.message)
        }
        return outcome
    }

    /// - Parameter mayReuse: true if an existing file with the same bytes may be used.
    private func attach(
        _ made: MadeAsset, record: BackupHost.Record?, replacing old: FileData?, mayReuse: Bool, _ db: Database
    ) throws -> Outcome {
        var file = mayReuse ? try lfs.insertOrReuse(made.file, reusesOriginals: true, in: db) : made.file
        // An existing file has the same checksum in its row, but its bytes may be damaged.
        if !mayReuse || unsound.contains(file.id) {
            file = made.file
            try file.insertRow(db)
        }
        let isShared = file.id != made.file.id
        if !isShared, delay > .zero { try JobTable.begin(file.id, notBefore: now + delay.milliseconds, db) }
        try save(made, fileID: file.id, state: .attached, db)
        let isLost = try old.map { try $0.status == .local && OriginalTable.row(of: $0.id, db) != nil } ?? false
        try host.insert(
            BackupAttachment(
                asset: made.asset, stamp: made.stamp, file: file, record: record, replaced: old,
                replacedIsLost: isLost), db)
        return .attached(file, isShared: isShared)
    }

    private func hasSameBytes(_ file: FileData, other: FileData) -> Bool {
        file.sha256 == other.sha256 && file.byteCount == other.byteCount
    }

    private func save(_ made: MadeAsset, fileID: FileData.ID?, state: SourceRow.State, _ db: Database) throws {
        try SourceTable.save(
            SourceRow(
                id: made.asset.id.source, stamp: made.stamp.text, byteCount: made.file.byteCount,
                sha256: made.file.sha256, fileID: fileID, state: state), db)
    }
}
