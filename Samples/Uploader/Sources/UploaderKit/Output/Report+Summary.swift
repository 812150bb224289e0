import Synchronization

/// The summary of a run.
extension Report {
    /// - Parameter tellsNothing: true to print the summary even if nothing was done.
    func summary(tellsNothing: Bool = true) {
        endProgress()
        let tally = tally
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let words =
            tally.words(about: purpose).joined(separator: ", ")
            + ", \(Format.bytes(tally.bytes)) in \(Format.seconds(seconds)) s"
            + (tally.failedSaves > 0 ? "; the database was not saved" : "")
            + (tally.isNotSynced ? "; the rows were not synced" : "")
        options.log?.write(words)
        if options.isJSON {
            printJSON(JSONSummary(tally, about: purpose, seconds: seconds))
        } else if !options.isQuiet, tellsNothing || tally != Tally() {
            Console.result(words)
            if state.withLock(\.namesLoneDatabase) {
                Console.result(
                    """
                    Only the database knows which object is which file, and it is on this machine only. 'push \
                    --save-database' keeps a copy on the storage; 'push --no-save-database' ends this reminder.
                    """)
            }
        }
    }
}
