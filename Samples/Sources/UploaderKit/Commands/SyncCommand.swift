import ArgumentParser
import LFS
import LFSSync

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Share the files with the account's other devices, and upload what is pending.",
        discussion: """
            What this device has changed is sent, and what others have changed comes: files
            that they have pushed are listed here and can be pulled, files that they have
            removed go. The database is made if it is missing. Old versions that 'push
            --keep-versions' keeps stay with the device that has made them: others list
            them as files without a path, and do not count or remove them.

            --sync names the server, and LFS_SYNC_TOKEN holds the token of this device,
            which 'lfs-server session add' prints. With --live it goes on until it is
            interrupted: changes go out and come within a second. With --verify the rows
            here are compared with the server's, and all come anew where they differ.
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: .long, help: "Go on until interrupted.")
    var live = false

    @Flag(name: .long, help: "Compare what is here with what the server has.")
    var verify = false

    func validate() throws {
        guard server.sync != nil else {
            throw ValidationError("Give the server with --sync, such as --sync https://host.")
        }
    }

    func run() async throws {
        let (isLive, verifies) = (live, verify)
        try await UploadRun.run(
            database, transfer, output, .joining, sync: server.sync, endless: isLive
        ) { run in
            guard let sync = run.sync else { return }
            if verifies {
                try await run.synchronize()
                run.report.compared(try await sync.verify())
            }
            guard isLive else { return }
            try await sync.run { run.report.synced($0) }
        }
    }
}
