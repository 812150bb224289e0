import LFS

/// What became of files that are read back, or removed.
extension Report {
    func pulled(_ file: FileData, _ path: FilePath) {
        var event = JSONEvent("pulled")
        worked()
        (event.id, event.path, event.bytes) = (file.id, path.exact, file.byteCount)
        tell(event, verbose: "pulled \(file.id) \(path)")
        changeTally { tally in
            tally.pulled += 1
            tally.bytes = tally.bytes.addingSaturated(file.byteCount)
        }
    }

    /// Names that mean no file, or files that cannot be removed.
    func failed(_ refusals: [FileNaming.Refusal]) {
        for refusal in refusals { failed(FilePath(refusal.name), refusal.reason) }
    }

    func removed(_ file: Remover.Removed) {
        var event = JSONEvent("removed")
        (event.id, event.path, event.bytes) = (FileID(file.fileID), file.path.exact, file.byteCount)
        tell(event, verbose: "removed \(file.fileID) \(file.path)")
        changeTally { tally in
            tally.removed += 1
            tally.bytes = tally.bytes.addingSaturated(file.byteCount)
        }
    }

    /// What was recorded of folders and links is forgotten.
    func forgotten(_ count: Int) {
        worked()
        changeTally { $0.forgotten += count }
    }

    func freed(_ amount: EvictionReport.Amount) {
        guard amount.files > 0 else { return }
        var event = JSONEvent("freed")
        (event.files, event.bytes) = (amount.files, amount.byteCount)
        let words =
            "freed \(Format.count(amount.files, "local copy", "local copies")), \(Format.bytes(amount.byteCount))"
        if isWatching { tell(event, verbose: words) } else { tell(event, words) }
    }

    func wouldRemove(_ file: NamedFile) {
        var event = JSONEvent("would-remove")
        (event.id, event.path) = (FileID(file.fileID), file.path.exact)
        tell(event, "\(file.fileID)  \(file.path)")
    }

    func wouldForget(_ path: FilePath) {
        var event = JSONEvent("would-forget")
        event.path = path.exact
        tell(event, "\(path)")
    }

    func failedDeletions(_ count: Int) {
        refused(count)
        message(
            """
            \(Format.count(count, "removed file")) still has bytes on the storage, which did not delete them. Run \
            'resume' to try again.
            """
        )
    }
}
