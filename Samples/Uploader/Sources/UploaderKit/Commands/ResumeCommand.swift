import ArgumentParser
import GRDB
import LFS

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Upload pending and failed files, and carry out pending deletions.",
        usage: "uploader resume --database <path> [<options>]",
        discussion: """
            The database remembers its storage, so --to is needed only if it does not know
            one. The command does not look for new files. 'push' and 'backup' do.

            More options: 'uploader help options', 'storages'.

            EXAMPLES
              Continue after an interruption:
                uploader resume --database photos.sqlite
              Continue with a limited rate, and wait for the storage up to two hours:
                uploader resume --database photos.sqlite --limit-rate 2MiB \\
                  --give-up-after 2h
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var server: SyncServerOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    func run() async throws {
        try await UploadRun.run(database, transfer: transfer, output: output, access: .own, sync: server.sync) { run in
            // Reported before any deletion starts.
            run.report.waitingDeletions(try await run.database.read(WaitingDeletions.count))
            return Preparation(extra: ())
        } _: { _, _ in
        }
    }
}

extension UploadRun {
    /// Waits for pending deletions, and reports the remaining ones.
    func reportDeletions() async throws {
        let left = try await lfs.waitForDeletions()
        report.deletionsEnded(left: left)
        if left > 0 {
            let reason = try await database.read(WaitingDeletions.reason)
            report.failedDeletions(left, reason: reason, isExpected: keepsRemovedObjects)
        }
        let held = try await database.read(WaitingDeletions.heldCount)
        if held > 0 { report.heldDeletions(held) }
    }
}
