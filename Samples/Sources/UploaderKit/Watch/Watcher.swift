import LFS
import LFSBackup

/// A push that goes on: attaches what has settled in the folders, and finishes each batch of uploads. It sleeps until
/// the system tells of a change.
struct Watcher: Sendable {
    let run: UploadRun
    let source: FolderSource
    let options: FollowOptions
    /// How files are attached.
    let backup: BackupOptions
    /// After so long without any progress it is told what waits; nil for never.
    let patience: Duration?

    /// How often a copy of the database is saved at the most.
    private static let savingInterval = Duration.seconds(300)
    /// Files that wait do not keep others from being freed and moved for longer.
    private static let longestRound = Duration.seconds(60)

    /// Returns only when there is nothing that can be followed.
    ///
    /// - Throws: when the place for the bytes, the database or the background work fails; `CancellationError`.
    func run() async throws {
        let report = run.report
        let follower = FolderFollower(source, options: options) { report.followed($0, rescan: options.rescan) }
        let (batches, attached) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await attach(follower, attached) }
            tasks.addTask { try await finish(batches, changed) }
            tasks.addTask { try await save(changes, again: changed) }
            defer { tasks.cancelAll() }
            while try await tasks.next() != nil {}
        }
        // The streams end with their task.
        try Task.checkCancellation()
    }

    private func attach(_ follower: FolderFollower, _ attached: AsyncStream<Void>.Continuation) async throws {
        defer { attached.finish() }
        while true {
            let batch = try await follower.next()
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            let failures = FailedOriginals()
            // The first look is that of any push.
            let isFirst = !run.report.isWatching
            try await run.attacher.run(batch.source, backup, failures: isFirst ? nil : failures)
            for failed in failures.all {
                // One that changed while it was read comes again when it has settled.
                if try await follower.putBack(failed.name, seen: failed.stamp) { continue }
                run.report.failed(FilePath(failed.name), failed.reason)
            }
            if isFirst {
                guard follower.hasRoots else { return }
                run.report.watches(follower.folderCount)
            }
            attached.yield()
        }
    }

    /// Waits for the uploads of what was attached, and does what comes after them.
    private func finish(_ batches: AsyncStream<Void>, _ changed: AsyncStream<Void>.Continuation) async throws {
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

    /// - Parameter step: runs now and then while files wait, when others are through.
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
