import ArgumentParser
import GRDB
import LFS

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Upload whatever is still pending or has failed, carry out pending deletions, then exit.")

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await UploadRun.run(database, transfer, output, .own, sync: server.sync) { run in
            // Before any begins.
            run.report.waitingDeletions(try await run.database.read(WaitingDeletions.count))
            return Preparation(extra: ())
        } _: { _, _ in
        }
    }
}

extension UploadRun {
    /// Waits for pending deletions and says what is left of them.
    func reportDeletions() async throws {
        let left = try await lfs.waitForDeletions()
        report.deletionsEnded(left: left)
        if left > 0 {
            let reason = try await database.read(WaitingDeletions.reason)
            report.failedDeletions(left, reason, isExpected: keepsRemovedObjects)
        }
        let held = try await database.read(WaitingDeletions.heldCount)
        if held > 0 { report.heldDeletions(held) }
    }
}
