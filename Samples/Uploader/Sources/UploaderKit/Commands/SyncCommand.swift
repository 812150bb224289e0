import ArgumentParser
import GRDB
import LFS
import LFSSync

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Share files with other devices of an account, and upload pending files.",
        usage: "uploader sync --database <path> [--sync <url>] [<options>]",
        discussion: """
            Sends the changes of this device and receives those of the others. Files that
            other devices pushed can be listed and pulled here. Files that they removed are
            removed here. The database is created if it is missing. Old versions belong to
            the device that made them: other devices list them as files without a path.

            LFS_SYNC_TOKEN is the token of this device, which 'lfs-server session add'
            prints. Without --sync, the server is the setting account.serverURL. With
            --live, changes are exchanged within a second. --verify receives all rows again
            where they differ from those of the server.

            More options: 'uploader help options', 'storages'.

            EXAMPLES
              Exchange changes once:
                uploader sync --database photos.sqlite --to s3://photos/mine \\
                  --sync https://photos.example
              Exchange changes until Ctrl-C:
                uploader sync --database photos.sqlite --sync https://photos.example --live
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Flag(name: .long, help: "Continue until interrupted.")
    var live = false

    @Flag(name: .long, help: "Compare the rows of this device with those of the server.")
    var verify = false

    @Flag(name: .long, help: "Receive all rows again, and delete those that the server lacks.")
    var fromScratch = false

    func validate() throws {
        if verify, fromScratch { throw ValidationError("Give --verify or --from-scratch, not both.") }
    }

    func run() async throws {
        let (isLive, verifies, resets) = (live, verify, fromScratch)
        var known = server.sync
        if known == nil {
            known = try await reportingErrors(json: output.json) {
                try await AccountSettings.trustedServer(of: database, isAllowed: transfer.trustStorage)
            }
        }
        guard let sync = known else {
            throw ValidationError(
                "Give the server with --sync, such as --sync https://host, or set account.serverURL in the settings.")
        }
        try await UploadRun.run(
            database, transfer: transfer, output: output, access: .joining, sync: sync, endless: isLive
        ) { run in
            guard let sync = run.sync else { return }
            if verifies {
                try await run.synchronize()
                let found = try await sync.verify()
                let standing = try await run.database.read { db in try SyncReport.fetch(db) }
                run.report.compared(found, pending: standing?.pending ?? 0)
            }
            if resets { run.report.synced(try await sync.reset()) }
            guard isLive else { return }
            try await sync.run { run.report.synced($0) }
        }
    }
}
