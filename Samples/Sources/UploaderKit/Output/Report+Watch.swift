import Foundation
import LFS
import LFSBackup
import Synchronization

/// What a push tells that goes on.
extension Report {
    private struct Watching: Encodable {
        var event = "watching"
        var folders: Int
    }

    /// One line of `--json` for each batch: what came since the one before.
    private struct Batch: Encodable {
        var event = "batch"
        var attached: Int
        var restored: Int
        var uploaded: Int
        var moved: Int
        var failed: Int
        var bytes: Int64
    }

    /// Whether the folders are followed by now.
    var isWatching: Bool { state.withLock { $0.isWatching } }

    /// The first look at the folders is over.
    func watches(_ folders: Int) {
        state.withLock { $0.isWatching = true }
        tellAlways(Watching(folders: folders), "watching \(Format.count(folders, "folder")); Ctrl-C ends it")
    }

    /// Returns when the uploads are told that the rows know of: the events come behind them.
    ///
    /// - Parameter through: how many have to be uploaded, as none of them waits any more.
    /// - Throws: `CancellationError`.
    func catchUp(to through: Int) async throws {
        var (last, quiet) = (-1, 0)
        while true {
            let (uploaded, through) = state.withLock { ($0.tally.uploaded, min($0.tally.through, through)) }
            if uploaded >= through { return }
            quiet = uploaded == last ? quiet + 1 : 0
            last = uploaded
            if quiet == 100 { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        // Another process has uploaded the rest, of which no event tells here.
        changeTally { $0.uploaded = max($0.uploaded, min($0.through, through)) }
    }

    /// Tells what came since the last batch, if anything did.
    ///
    /// - Returns: what to compare the next one with.
    func batch(since last: Tally) -> Tally {
        let tally = restsIfThrough()
        let batch = Batch(
            attached: tally.attached - last.attached, restored: tally.restored - last.restored,
            uploaded: tally.uploaded - last.uploaded, moved: tally.moved - last.moved,
            failed: tally.failed + tally.unreadable - last.failed - last.unreadable, bytes: tally.bytes - last.bytes)
        let parts = [
            (batch.attached, "attached"), (batch.restored, "restored"), (batch.uploaded, "uploaded"),
            (batch.moved, "moved"), (batch.failed, "failed"),
        ]
        let words = parts.filter { $0.0 > 0 }.map { "\(Format.count($0.0)) \($0.1)" }
        if words.isEmpty { return last }
        let time = Date().formatted(.verbatim(Self.time, timeZone: .current, calendar: .current))
        tellAlways(batch, "\(time)  \(words.joined(separator: ", ")), \(Format.bytes(batch.bytes))")
        return tally
    }

    private static let time: Date.FormatString =
        "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)"

    private func tellAlways(_ event: some Encodable, _ words: String) { tell(event, words) }

    /// Nothing was done for so long.
    func stillWaiting(_ files: Int, for time: Duration) {
        let (reasons, outage) = state.withLock { ($0.reasons, $0.outage) }
        let reason = outage ?? reasons.min { $0.key < $1.key }?.value.reason
        var event = JSONEvent("waiting")
        (event.files, event.reason) = (files, reason)
        tell(event, verbose: nil)
        message(
            "\(Format.count(files, "file")) not uploaded: for \(Format.time(time / .seconds(1))) no byte was accepted"
                + (reason.map { ": \($0)" } ?? ""))
    }

    /// What a person has to know of how the folders are followed.
    func followed(_ note: FollowNote, rescan: Duration?) {
        let interval = Format.time((rescan ?? FollowOptions.usualRescan) / .seconds(1))
        switch note {
        case .lost: message("more has changed at once than the system tells: everything is walked once more")
        case .replaced(let name): message("\(FilePath(name)) is another folder now: everything is walked once more")
        case .unsettled(let name):
            message("\(FilePath(name)) has been written to for a minute and more; it is pushed when that ends")
        case .gone(let name): message("\(FilePath(name)) is not there any more; it is looked for every \(interval)")
        case .limited(let folders, let reason, let isLimit):
            message(
                "only \(Format.count(folders, "folder")) can be followed (\(reason)): "
                    + "everything is walked every \(interval)"
                    + (isLimit ? "; 'sysctl fs.inotify.max_user_watches' has the limit" : ""))
        @unknown default: break
        }
    }
}
