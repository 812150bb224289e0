import Synchronization

/// The last word of a run.
extension Report {
    /// - Parameter tellsNothing: whether people are told as well when nothing was done.
    func summary(tellsNothing: Bool = true) {
        endProgress()
        let tally = tally
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let words =
            tally.words(about: purpose).joined(separator: ", ")
            + ", \(Format.bytes(tally.bytes)) in \(Format.seconds(seconds)) s"
        options.log?.write(words)
        if options.isJSON {
            printJSON(
                JSONSummary(
                    attached: tally.attached, shared: tally.shared, restored: tally.restored, uploaded: tally.uploaded,
                    failed: tally.failed,
                    skipped: tally.skipped, unreadable: tally.unreadable, unchanged: tally.unchanged,
                    touched: tally.touched, folders: tally.folders,
                    links: tally.links, gone: tally.gone, forgotten: tally.forgotten, pulled: tally.pulled,
                    removed: tally.removed, deletions: tally.deletions, moved: tally.moved,
                    versions: tally.versions, versionBytes: tally.versionBytes, bytes: tally.bytes,
                    seconds: (seconds * 1_000).rounded() / 1_000))
        } else if !options.isQuiet, tellsNothing || tally != Tally() {
            Console.result(words)
            if state.withLock(\.namesLoneDatabase) {
                Console.result(
                    """
                    The database, which alone knows the files' names, is on this machine only. 'push --save-database' \
                    keeps a copy on the storage; 'push --no-save-database' ends this reminder.
                    """)
            }
        }
    }
}
