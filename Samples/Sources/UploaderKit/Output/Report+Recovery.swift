import Synchronization

/// What became of the database's copy on the storage.
extension Report {
    func saved(_ outcome: DatabaseSaver.Outcome) {
        switch outcome {
        case .saved(let saved, let kept):
            worked()
            if let other = saved.other {
                message(
                    """
                    another machine saves copies of this database, the last one \(Format.time(since: other)) ago. \
                    Files that only one of them has pushed are in its own copies alone: 'recover --writer' takes them. \
                    Give each machine a database of its own.
                    """)
            }
            if saved.needsID {
                message(
                    "this server finds the copy of the database by its id alone: 'recover --id \(saved.databaseID)'")
            }
            if saved.lacksSeal {
                message(
                    """
                    the copy of the database carries no code that shows that it comes from you: set \
                    \(CopySeal.variable), and 'recover' refuses what others have put in its place
                    """)
            }
            if let kept { message("older copies of the database could not be removed from the storage: \(kept)") }
            var event = JSONEvent("saved")
            event.bytes = saved.byteCount
            tell(event, verbose: "saved the database \(saved.databaseID), \(Format.bytes(saved.byteCount))")
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
