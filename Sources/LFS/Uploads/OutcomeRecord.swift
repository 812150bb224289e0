import Foundation
import GRDB
import LFSStorage
import LFSTransfer

/// Writes the outcome of one upload into its rows, on the condition that they are still waiting for it.
struct OutcomeRecord {
    private let outcome: TransferOutcome
    private let now: Int64

    init(_ outcome: TransferOutcome, now: Int64) {
        self.outcome = outcome
        self.now = now
    }

    func save(_ db: Database) throws {
        switch outcome.result {
        case .uploaded(let object): try saveUpload(object, db)
        case .retry(let error, let delay, let tries):
            let since = tries.sending.byteCount > 0 ? now - tries.sending.age.milliseconds : 0
            try run(
                db,
                """
                UPDATE lfs_job SET attempts = ?, notBefore = ?, errorCode = ?, errorMessage = ?,
                    sentBytes = ?, sentSince = ?
                WHERE fileID = ? AND state = 'queued' AND notBefore = ?
                """,
                [
                    tries.count, now + delay.milliseconds, error.code.rawValue, error.message,
                    tries.sending.byteCount, since, outcome.job.id, outcome.job.turn,
                ])
        // It stays due, and its own last error stays: this one is the storage's, see `lfs_state`.
        case .waiting: break
        case .failed(let error):
            try run(
                db,
                """
                UPDATE lfs_job SET state = 'failed', attempts = attempts + 1, errorCode = ?, errorMessage = ?
                WHERE fileID = ? AND state = 'queued' AND notBefore = ?
                """,
                [error.code.rawValue, error.message, outcome.job.id, outcome.job.turn])
        case .skipped(.madeElsewhere): try dropJob(db)
        case .skipped(.notPending): try dropJobWithoutRow(db)
        case .givenBack: break
        }
    }

    private func saveUpload(_ object: RemoteObject, _ db: Database) throws {
        try run(
            db, "UPDATE lfs_file SET status = 'remote', url = ?, proof = ? WHERE id = ? AND status = 'local'",
            [object.url.absoluteString, FileData.Proof(object.proof), outcome.job.id])
        if db.changesCount > 0 { return try dropJob(db) }
        let isThere = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM lfs_file WHERE id = ?)", arguments: [outcome.job.id])
        if isThere == true { return try saveRepeatedUpload(object, db) }
        // The row was deleted while its bytes were on their way: the object just made has to go as well. Its tombstone has
        // waited for that. Without one nobody has deleted it: an older copy of the database was put back meanwhile.
        try run(
            db, "UPDATE lfs_tombstone SET state = 'pending', notBefore = 0 WHERE fileID = ?", [outcome.job.id])
    }

    /// The row was `remote` already: its object was missing or wrong and has been made again.
    private func saveRepeatedUpload(_ object: RemoteObject, _ db: Database) throws {
        try run(
            db, "UPDATE lfs_file SET url = ?1, proof = ?2 WHERE id = ?3 AND (url IS NOT ?1 OR proof IS NOT ?2)",
            [object.url.absoluteString, FileData.Proof(object.proof), outcome.job.id])
        try dropJob(db)
    }

    /// The row may have been deleted and inserted again since the upload was skipped, or its upload may have been queued
    /// again, and then it has a job anew.
    private func dropJobWithoutRow(_ db: Database) throws {
        try run(
            db, "DELETE FROM lfs_job WHERE fileID = ?1 AND NOT EXISTS (SELECT 1 FROM lfs_file WHERE id = ?1)",
            [outcome.job.id])
    }

    private func dropJob(_ db: Database) throws {
        try run(db, "DELETE FROM lfs_job WHERE fileID = ?", [outcome.job.id])
    }

    /// Compiling a statement with its triggers costs more than running it, so each is compiled once.
    private func run(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

extension FileData.Proof {
    init(_ proof: StorageCapabilities.Proof) {
        switch proof {
        case .checksum: self = .checksum
        case .byteCount: self = .byteCount
        }
    }
}
