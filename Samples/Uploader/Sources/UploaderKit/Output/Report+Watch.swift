import Foundation
import LFS
import LFSBackup
import Synchronization

/// Events of a push that watches folders.
extension Report {
    private struct Watching: Encodable {
        var event = "watching"
        var folders: Int
    }

    /// A line of `--json` with the changes since the previous batch.
    private struct Batch: Encodable {
        var event = "batch"
        var attached: Int
        var restored: Int
        var uploaded: Int
        var moved: Int
        var failed: Int
        var bytes: Int64
    }

    /// True once the first walk has ended and the folders are watched.
    var isWatching: Bool { state.withLock { $0.isWatching } }

    /// Reports the end of the first walk.
    func watches(_ folders: Int) {
        state.withLock { $0.isWatching = true }
        tellAlways(
            Watching(folders: folders), words: "watching \(Format.count(folders, noun: "folder")); Ctrl-C ends it")
    }

    /// Waits until the events of all uploads that the rows show have been reported. Events arrive after the rows
    /// change.
    ///
    /// - Parameter through: the number of uploads after which no file is pending.
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
        // Another process has uploaded the rest, so no events arrive for it.
        changeTally { $0.uploaded = max($0.uploaded, min($0.through, through)) }
    }

    /// Reports the changes since the last batch, if there are any.
    ///
    /// - Returns: the figures to compare the next batch with.
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
        tellAlways(batch, words: "\(time)  \(words.joined(separator: ", ")), \(Format.bytes(batch.bytes))")
        return tally
    }

    private static let time: Date.FormatString =
        "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)"

    private func tellAlways(_ event: some Encodable, words: String) { tell(event, words: words) }

    /// Reports that the run made no progress for the given time.
    func stillWaiting(_ files: Int, for time: Duration) {
        let (reasons, outage) = state.withLock { ($0.reasons, $0.outage) }
        let reason = outage ?? reasons.min { $0.key < $1.key }?.value.reason
        var event = JSONEvent("waiting")
        event.files = files
        event.reason = reason
        tell(event, verbose: nil)
        message(
            "\(Format.count(files, noun: "file")) not uploaded: no byte was accepted for "
                + "\(Format.time(time / .seconds(1)))" + (reason.map { ": \($0)" } ?? ""))
    }

    /// Reports a note of the follower.
    func followed(_ note: FollowNote, rescan: Duration?) {
        let interval = Format.time((rescan ?? FollowOptions.usualRescan) / .seconds(1))
        switch note {
        case .lost: message("more has changed at once than the system can report: all folders are walked again")
        case .replaced(let name): message("\(FilePath(name)) is a different folder now: all folders are walked again")
        case .unsettled(let name):
            message("\(FilePath(name)) has been written to for more than a minute. It is pushed when that ends.")
        case .gone(let name): message("\(FilePath(name)) no longer exists, and is looked for every \(interval)")
        case .limited(let folders, let reason, let isLimit):
            message(
                "only \(Format.count(folders, noun: "folder")) can be watched (\(reason)): "
                    + "all folders are walked every \(interval)"
                    + (isLimit ? "; 'sysctl fs.inotify.max_user_watches' shows the limit" : ""))
        @unknown default: break
        }
    }
}
