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
        let steps = made.map { made in
            let isKnownContent = !contents.insert(made.file.sha256).inserted
            return step(made, known: known, mayReuse: reusesFiles && isKnownContent)
        }
        if !isolated { try FileData.insertRows(zip(made, steps).filter { $1.insertsFile }.map(\.0.file), db) }
        return try zip(made, steps).map { made, step in
            let record = known.records?[made.asset.id]
            return isolated
                ? try writeIsolated(made, step: step, record: record, db)
                : try write(made, step: step, isInserted: true, record: record, db)
        }
    }

    /// The action for one original.
    private enum Step {
        case none(reason: String)
        case decline(FileData.ID?)
        case touch(FileData)
        /// `mayReuse` is true if an existing file with the same bytes may be used.
        case attach(replacing: FileData?, mayReuse: Bool)

        /// True for a file that is inserted whatever the database contains.
        var insertsFile: Bool {
            if case .attach(_, mayReuse: false) = self { true } else { false }
        }
    }

    private func step(_ made: MadeAsset, known: KnownAssets, mayReuse: Bool) -> Step {
        switch known.finding(made.asset) {
        case .unusable(let reason): return .none(reason: reason)
        case .new: return .attach(replacing: nil, mayReuse: mayReuse)
        case .declined(let row):
            // Different bytes were never deleted. A backup without them would lose them.
            let isSame = row.sha256 == made.file.sha256 && row.byteCount == made.file.byteCount
            return !sendsDeclined && isSame ? .decline(row.fileID) : .attach(replacing: nil, mayReuse: mayReuse)
        case .attached(_, let file, _):
            let isSame = file.sha256 == made.file.sha256 && file.byteCount == made.file.byteCount
            return isSame && !unsound.contains(file.id) ? .touch(file) : .attach(replacing: file, mayReuse: mayReuse)
        }
    }

    private func writeIsolated(
        _ made: MadeAsset, step: Step, record: BackupHost.Record?, _ db: Database
    ) throws -> Outcome {
        var outcome = Outcome.touched
        do {
            try db.inSavepoint {
                outcome = try write(made, step: step, isInserted: false, record: record, db)
                return .commit
            }
        } catch let error as BackupError where error.code == .refused {
            return .failed(error.message)
        }
        return outcome
    }

    /// - Parameter isInserted: true if the file of a step that inserts one was inserted before.
    private func write(
        _ made: MadeAsset, step: Step, isInserted: Bool, record: BackupHost.Record?, _ db: Database
    ) throws -> Outcome {
        switch step {
        case .none(let reason): return .failed(reason)
        case .decline(let fileID):
            try save(made, fileID: fileID, state: .declined, db)
            return .declined
        case .touch(let file):
            try save(made, fileID: file.id, state: .attached, db)
            try host.touch?(made.asset, made.stamp, file, db)
            return .touched
        case .attach(let old, let mayReuse):
            let file = try mayReuse ? sharedFile(made.file, db) : made.file
            if !mayReuse, !isInserted { try file.insertRow(db) }
            return try attach(made, as: file, record: record, replacing: old, db)
        }
    }

    /// Returns an existing file with the same bytes, or inserts the given one.
    private func sharedFile(_ made: FileData, _ db: Database) throws -> FileData {
        let file = try lfs.insertOrReuse(made, reusesOriginals: true, in: db)
        // The row of an existing file has the checksum, but its bytes may be damaged.
        guard unsound.contains(file.id) else { return file }
        try made.insertRow(db)
        return made
    }

    private func attach(
        _ made: MadeAsset, as file: FileData, record: BackupHost.Record?, replacing old: FileData?, _ db: Database
    ) throws -> Outcome {
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

    private func save(_ made: MadeAsset, fileID: FileData.ID?, state: SourceRow.State, _ db: Database) throws {
        try SourceTable.save(
            SourceRow(
                id: made.asset.id.source, stamp: made.stamp.text, byteCount: made.file.byteCount,
                sha256: made.file.sha256, fileID: fileID, state: state), db)
    }
}
