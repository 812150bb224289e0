import Synchronization

/// Events of the database's copy on the storage.
extension Report {
    /// True if the summary may have a reminder to save the database.
    var showsReminders: Bool { purpose == .uploading && !options.isJSON && !options.isQuiet }

    func saved(_ outcome: DatabaseSaver.Outcome) {
        switch outcome {
        case .saved(let saved, let kept):
            worked()
            if let other = saved.other {
                message(
                    """
                    another machine saves copies of this database, the last one \(Format.time(since: other)) ago. \
                    Files that only one machine has pushed are in its own copies only: 'recover --writer' selects \
                    them. Give each machine its own database.
                    """)
            }
            if saved.needsID {
                message(
                    "this server finds the copy of the database only by its id: 'recover --id \(saved.databaseID)'")
            }
            if saved.lacksSeal {
                message(
                    """
                    the copy of the database has no authentication code: set \(CopySeal.variable), so that 'recover' \
                    refuses copies that others have made
                    """)
            }
            if let kept { message("older copies of the database could not be removed from the storage: \(kept)") }
            var event = JSONEvent("saved")
            event.bytes = saved.byteCount
            tell(event, verbose: "saved the database \(saved.databaseID), \(Format.bytes(saved.byteCount))")
        case .undecided(let isReminderDue): state.withLock { $0.namesLoneDatabase = isReminderDue }
        case .unchanged, .notWanted: break
        }
    }

    /// Reports a failure to save the database. The files are safe, and the next run saves it.
    func saveFailed(_ error: any Error) {
        changeTally { $0.failedSaves += 1 }
        message("the database was not saved on the storage: \(ErrorMessages.sentence(error)) The next run tries again.")
    }
}
