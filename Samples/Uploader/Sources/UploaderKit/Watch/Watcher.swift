import LFS
import LFSBackup

/// A push that continues: it attaches files that have settled in the folders, and completes each batch of uploads. It
/// sleeps until the system reports a change.
struct Watcher: Sendable {
    let run: UploadRun
    let source: FolderSource
    let options: FollowOptions
    /// The options for attaching files.
    let backup: BackupOptions
    /// The time without progress after which pending files are reported. Nil for never.
    let patience: Duration?

    /// The minimum interval between two copies of the database.
    private static let savingInterval = Duration.seconds(300)
    /// The maximum time for which pending files delay the freeing and moving of others.
    private static let longestRound = Duration.seconds(60)

    /// Returns only if no folder can be watched.
    ///
    /// - Throws: errors of the local store, the database or the background work. `CancellationError`.
    func run() async throws {
        let report = run.report
        let follower = FolderFollower(source, options: options) { report.followed($0, rescan: options.rescan) }
        let (batches, attached) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await attach(follower, attached: attached) }
            tasks.addTask { try await finish(batches, changed: changed) }
            tasks.addTask { try await save(changes, again: changed) }
            defer { tasks.cancelAll() }
            while try await tasks.next() != nil {}
        }
        // A cancelled task ends the streams.
        try Task.checkCancellation()
    }

    private func attach(_ follower: FolderFollower, attached: AsyncStream<Void>.Continuation) async throws {
        defer { attached.finish() }
        while true {
            let batch = try await follower.next()
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            let failures = FailedOriginals()
            // The first walk is the same as in any push.
            let isFirst = !run.report.isWatching
            try await run.attacher.run(batch.source, options: backup, failures: isFirst ? nil : failures)
            for failed in failures.all {
                // A file that changed during the read is queued again until it has settled.
                if try await follower.putBack(failed.name, seen: failed.stamp) { continue }
                run.report.failed(FilePath(failed.name), reason: failed.reason)
            }
            if isFirst {
                guard follower.hasRoots else { return }
                if run.report.tally.hasFailures { follower.noteFailures() }
                run.report.watches(follower.folderCount)
            }
            attached.yield()
        }
    }

    /// Waits for the uploads of attached files, and carries out the later steps.
    private func finish(_ batches: AsyncStream<Void>, changed: AsyncStream<Void>.Continuation) async throws {
        defer { changed.finish() }
        var told = Tally()
        for await _ in batches {
            await run.shareRows(isLast: false)
            let through = run.report.tally.through
            try await waitForUploads {
                try await run.freeAndMove()
                told = run.report.batch(since: told)
                changed.yield()
            }
            _ = try await run.finish()
            try await run.report.catchUp(to: through)
            told = run.report.batch(since: told)
            changed.yield()
        }
    }

    /// - Parameter step: called from time to time while some files are pending and others are completed.
    private func waitForUploads(_ step: () async throws -> Void) async throws {
        let round = min(patience ?? Self.longestRound, Self.longestRound)
        var (count, uploaded) = (run.report.advance.count, run.report.tally.uploaded)
        var waited = Duration.zero
        while true {
            let summary = try await run.lfs.waitForUploads(timeout: round)
            if summary.pending == 0 { return }
            let tally = run.report.tally
            if tally.uploaded != uploaded {
                uploaded = tally.uploaded
                try await step()
            }
            let now = run.report.advance.count
            waited = now == count ? waited + round : .zero
            count = now
            guard let patience, waited >= patience else { continue }
            run.report.stillWaiting(summary.pending, for: waited)
            waited = .zero
        }
    }

    private func save(_ changes: AsyncStream<Void>, again: AsyncStream<Void>.Continuation) async throws {
        for await _ in changes {
            if try await !run.saveDatabase() { again.yield() }
            try await Task.sleep(for: Self.savingInterval)
        }
    }
}
