import Foundation
import LFS
import LFSStorage
import Synchronization

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

    /// The storage is away, and the run waits for it: told once.
    func away(_ refusal: StorageError) {
        if state.withLock({ $0.outage != nil }) { return }
        handle(.outage(StorageOutage(code: refusal.code, reason: refusal.message, since: Date())), nil)
    }

    /// The storage gives nothing: one line for all files.
    func notPulled(_ files: [AttachedDocument], _ reason: String) {
        for attached in files {
            var event = JSONEvent("failed")
            (event.id, event.path, event.reason) = (attached.file.id, attached.document.path.exact, reason)
            tell(event, verbose: nil)
        }
        message("\(Format.count(files.count, "file")) not pulled: \(reason)")
    }

    /// Names that mean no file, or files that cannot be removed.
    func failed(_ refusals: [FileNaming.Refusal]) {
        for refusal in refusals { failed(FilePath(refusal.name), refusal.reason) }
    }

    func removed(_ file: Remover.Removed) {
        var event = JSONEvent("removed")
        (event.id, event.path, event.bytes) = (FileID(file.fileID), file.path.exact, file.byteCount)
        let versions = file.versions
        if file.isVersion {
            (event.bytes, event.isVersion) = (versions.bytes, true)
        } else if versions.versions > 0 {
            event.versions = versions.versions
        }
        tell(event, verbose: "removed \(file.fileID) \(file.path)\(Self.words(event))")
        changeTally { tally in
            tally.removed += file.isVersion ? 0 : 1
            tally.bytes = tally.bytes.addingSaturated(file.byteCount)
            tally.note(versions)
        }
    }

    /// Old versions have gone whose time is over.
    func expired(_ removed: VersionTable.Removed) {
        guard removed.versions > 0 else { return }
        worked()
        var event = JSONEvent("expired")
        (event.versions, event.bytes) = (removed.versions, removed.bytes)
        tell(event, verbose: "removed \(Format.count(removed.versions, "old version")), \(Format.bytes(removed.bytes))")
        changeTally { $0.note(removed) }
    }

    private static func words(_ event: JSONEvent) -> String {
        if event.isVersion == true { return "  (an old version)" }
        return event.versions.map { "  (and \(Format.count($0, "old version")))" } ?? ""
    }

    /// What was recorded of folders and links is forgotten.
    func forgotten(_ count: Int) {
        worked()
        changeTally { $0.forgotten += count }
    }

    /// - Parameter isLast: false while files are attached, which is told in one sum at the end.
    func freed(_ amount: EvictionReport.Amount, isLast: Bool) {
        let sum = state.withLock { state in
            state.freed = (state.freed.files + amount.files, state.freed.bytes.addingSaturated(amount.byteCount))
            return state.freed
        }
        let tellsSum = isLast && !isWatching
        if amount.files > 0 {
            var event = JSONEvent("freed")
            (event.files, event.bytes) = (amount.files, amount.byteCount)
            tell(event, verbose: tellsSum ? nil : Self.freedWords(amount.files, amount.byteCount))
        }
        guard tellsSum, sum.files > 0 else { return }
        state.withLock { $0.freed = (0, 0) }
        result(Self.freedWords(sum.files, sum.bytes))
    }

    private static func freedWords(_ files: Int, _ bytes: Int64) -> String {
        "freed \(Format.count(files, "local copy", "local copies")), \(Format.bytes(bytes))"
    }

    /// - Parameter versions: how many old versions it has.
    func wouldRemove(_ file: NamedFile, versions: Int) {
        var event = JSONEvent("would-remove")
        (event.id, event.path) = (FileID(file.fileID), file.path.exact)
        if file.kind == .version { event.isVersion = true } else if versions > 0 { event.versions = versions }
        tell(event, "\(file.fileID)  \(file.path)\(Self.words(event))")
    }

    func wouldForget(_ path: FilePath) {
        var event = JSONEvent("would-forget")
        event.path = path.exact
        tell(event, "\(path)")
    }

    /// How many deletions wait that the run is to carry out.
    func waitingDeletions(_ count: Int) { state.withLock { $0.waitingDeletions = count } }

    func deletionsEnded(left: Int) {
        state.withLock { state in
            guard let before = state.waitingDeletions else { return }
            state.tally.deletions = max(before - left, 0)
        }
    }

    /// Names the deletions that no run without the sync server can carry out.
    func heldDeletions(_ count: Int) {
        let words = Format.count(count, "removed file keeps its", "removed files keep their")
        message("\(words) bytes on the storage until the sync server has accepted the removal. Run 'sync'.")
    }

    /// - Parameter isExpected: whether the keys may not delete, as the command line says: then it is no failure.
    func failedDeletions(_ count: Int, _ reason: String?, isExpected: Bool) {
        if !isExpected { refused(count) }
        let words = Format.count(count, "removed file still has", "removed files still have")
        let cause = reason.map { ": \(Words.sentence($0))" } ?? "."
        let advice =
            isExpected
            ? "" : " Run 'resume' to try again, or give --keep-removed-objects if these keys may not delete."
        message("\(words) bytes on the storage, which did not delete them\(cause)\(advice)")
    }
}

extension Tally {
    /// Counts old versions that went.
    mutating func note(_ removed: VersionTable.Removed) {
        versions += removed.versions
        versionBytes = versionBytes.addingSaturated(removed.bytes)
    }
}
