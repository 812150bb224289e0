import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem
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
        let (id, attempt) = (outcome.job.id, JobTable.Try(outcome.job.id, turn: outcome.job.turn))
        switch outcome.result {
        case .uploaded(let object): try saveUpload(object, db)
        case .retry(let error, let delay, let tries):
            try JobTable.putOff(
                attempt, until: now + delay.milliseconds, attempts: tries.count, code: error.code.rawValue,
                message: error.message, sentBytes: tries.sending.byteCount,
                sentSince: tries.sending.byteCount > 0 ? now - tries.sending.age.milliseconds : 0, db)
        // It stays due, and its own last error stays: this one is the storage's, see `lfs_state`.
        case .waiting: break
        case .failed(let error):
            try JobTable.fail(attempt, code: error.code.rawValue, message: error.message, db)
        case .skipped(.madeElsewhere): try JobTable.remove(id, db)
        case .skipped(.notPending): try JobTable.removeWithoutFile(id, db)
        case .givenBack: break
        }
    }

    private func saveUpload(_ object: RemoteObject, _ db: Database) throws {
        let (id, proof) = (outcome.job.id, FileRow.Proof(object.proof))
        if try FileTable.noteUpload(id, url: object.url, proof, db) { return try JobTable.remove(id, db) }
        if try FileTable.contains(id, db) {
            // The row was `remote` already: its object was missing or wrong and has been made again.
            try FileTable.noteUploadAgain(id, url: object.url, proof, db)
            return try JobTable.remove(id, db)
        }
        // The row was deleted while its bytes were on their way: the object just made has to go as well. Its tombstone
        // has waited for that. Without one nobody has deleted it: an older copy of the database was put back meanwhile.
        try TombstoneTable.removeAgain(id, db)
    }
}

extension FileRow.Proof {
    init(_ proof: StorageCapabilities.Proof) {
        switch proof {
        case .checksum: self = .checksum
        case .byteCount: self = .byteCount
        }
    }
}
