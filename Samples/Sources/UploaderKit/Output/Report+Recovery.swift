import Synchronization

/// What became of the database's copy on the storage.
extension Report {
    func saved(_ outcome: DatabaseSaver.Outcome) {
        switch outcome {
        case .saved(let byteCount, let kept):
            worked()
            if let kept { message("older copies of the database could not be removed from the storage: \(kept)") }
            var event = JSONEvent("saved")
            event.bytes = byteCount
            tell(event, verbose: "saved the database, \(Format.bytes(byteCount))")
        case .undecided: state.withLock { $0.namesLoneDatabase = purpose == .uploading }
        case .unchanged, .notWanted: break
        }
    }

    /// The files are safe; the next run saves it.
    func saveFailed(_ error: any Error) {
        refused(1)
        message("the database was not saved on the storage: \(Words.sentence(error)) The next run tries again.")
    }
}
