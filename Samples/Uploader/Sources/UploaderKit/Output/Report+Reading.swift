import Foundation
import LFS
import LFSStorage
import Synchronization

/// Events of files that are restored or removed.
extension Report {
    func pulled(_ file: FileData, path: FilePath) {
        var event = JSONEvent("pulled")
        worked()
        event.id = file.id
        event.path = path.exact
        event.bytes = file.byteCount
        tell(event, verbose: "pulled \(file.id) \(path)")
        changeTally { tally in
            tally.pulled += 1
            tally.bytes = tally.bytes.addingSaturated(file.byteCount)
        }
    }

    /// Reports once that the run waits for an unavailable storage.
    func away(_ refusal: StorageError) {
        if state.withLock({ $0.outage != nil }) { return }
        handle(.outage(StorageOutage(code: refusal.code, reason: refusal.message, since: Date())), path: nil)
    }

    /// Reports files that an unavailable storage could not provide, in one line.
    func notPulled(_ files: [AttachedDocument], reason: String) {
        for attached in files {
            var event = JSONEvent("failed")
            event.id = attached.file.id
            event.path = attached.document.path.exact
            event.reason = reason
            tell(event, verbose: nil)
        }
        message("\(Format.count(files.count, noun: "file")) not pulled: \(reason)")
    }

    /// Reports names without a match, or files that cannot be removed.
    func failed(_ refusals: [FileNaming.Refusal]) {
        for refusal in refusals { failed(FilePath(refusal.name), reason: refusal.reason) }
    }

    func removed(_ file: Remover.Removed) {
        var event = JSONEvent("removed")
        event.id = FileID(file.fileID)
        event.path = file.path.exact
        event.bytes = file.byteCount
        let versions = file.versions
        if file.isVersion {
            event.bytes = versions.bytes
            event.isVersion = true
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

    /// Reports expired versions that were removed.
    func expired(_ removed: VersionTable.Removed) {
        guard removed.versions > 0 else { return }
        worked()
        var event = JSONEvent("expired")
        event.versions = removed.versions
        event.bytes = removed.bytes
        tell(
            event,
            verbose: "removed \(Format.count(removed.versions, noun: "old version")), \(Format.bytes(removed.bytes))")
        changeTally { $0.note(removed) }
    }

    private static func words(_ event: JSONEvent) -> String {
        if event.isVersion == true { return "  (an old version)" }
        return event.versions.map { "  (and \(Format.count($0, noun: "old version")))" } ?? ""
    }

    /// Counts folders and links whose records were removed.
    func forgotten(_ count: Int) {
        worked()
        changeTally { $0.forgotten += count }
    }

    /// - Parameter isLast: false while files are attached. The end of the run reports the total.
    func freed(_ amount: EvictionReport.Amount, isLast: Bool) {
        let sum = state.withLock { state in
            state.freed = (state.freed.files + amount.files, state.freed.bytes.addingSaturated(amount.byteCount))
            return state.freed
        }
        let tellsSum = isLast && !isWatching
        if amount.files > 0 {
            var event = JSONEvent("freed")
            event.files = amount.files
            event.bytes = amount.byteCount
            tell(event, verbose: tellsSum ? nil : Self.freedWords(amount.files, bytes: amount.byteCount))
        }
        guard tellsSum, sum.files > 0 else { return }
        state.withLock { $0.freed = (0, 0) }
        result(Self.freedWords(sum.files, bytes: sum.bytes))
    }

    private static func freedWords(_ files: Int, bytes: Int64) -> String {
        "freed \(Format.count(files, noun: "local copy", plural: "local copies")), \(Format.bytes(bytes))"
    }

    /// - Parameter versions: the number of its old versions.
    func wouldRemove(_ file: NamedFile, versions: Int) {
        var event = JSONEvent("wouldRemove")
        event.id = FileID(file.fileID)
        event.path = file.path.exact
        if file.kind == .version { event.isVersion = true } else if versions > 0 { event.versions = versions }
        tell(event, words: "\(file.fileID)  \(file.path)\(Self.words(event))")
    }

    func wouldForget(_ path: FilePath) {
        var event = JSONEvent("wouldForget")
        event.path = path.exact
        tell(event, words: "\(path)")
    }

    /// Sets the number of pending deletions that the run will carry out.
    func waitingDeletions(_ count: Int) { state.withLock { $0.waitingDeletions = count } }

    func deletionsEnded(left: Int) {
        state.withLock { state in
            guard let before = state.waitingDeletions else { return }
            state.tally.deletions = max(before - left, 0)
        }
    }

    /// Reports the deletions that only a run with the sync server can carry out.
    func heldDeletions(_ count: Int) {
        let words = Format.count(count, noun: "removed file keeps its", plural: "removed files keep their")
        message("\(words) bytes on the storage until the sync server has accepted the removal. Run 'sync'.")
    }

    /// - Parameter isExpected: true if the command line says that the keys may not delete. This is then not a failure.
    func failedDeletions(_ count: Int, reason: String?, isExpected: Bool) {
        if !isExpected { refused(count) }
        let words = Format.count(count, noun: "removed file still has", plural: "removed files still have")
        let cause = reason.map { ": \(ErrorMessages.sentence($0))" } ?? "."
        let advice =
            isExpected
            ? "" : " Run 'resume' to try again, or give --keep-removed-objects if these keys may not delete."
        message("\(words) bytes on the storage, which did not delete them\(cause)\(advice)")
    }
}

extension Tally {
    /// Counts removed old versions.
    mutating func note(_ removed: VersionTable.Removed) {
        versions += removed.versions
        versionBytes = versionBytes.addingSaturated(removed.bytes)
    }
}
