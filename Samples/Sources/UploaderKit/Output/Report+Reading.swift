import LFS

/// What became of files that are read back, or removed.
extension Report {
    func pulled(_ file: FileData, _ path: FilePath) {
        var event = JSONEvent("pulled")
        worked()
        (event.id, event.path, event.bytes) = (file.id, path.description, file.byteCount)
        tell(event, verbose: "pulled \(file.id) \(path)")
        changeTally { tally in
            tally.pulled += 1
            tally.bytes = tally.bytes.addingSaturated(file.byteCount)
        }
    }

    func removed(_ id: String) {
        var event = JSONEvent("removed")
        event.id = FileID(id)
        tell(event, verbose: "removed \(id)")
        changeTally { $0.removed += 1 }
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
