public import ArgumentParser

/// The command `uploader`, which attaches files to a database and uploads them.
public struct Uploader: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "uploader",
        abstract: "Uploads files and folders to a storage, unencrypted, and records them in SQLite.",
        discussion: """
            'uploader help TOPIC' explains a topic: environment, exit-status, filters,
            names, options, restoring, saving, storages, verifying.

            EXAMPLES
              Upload a folder to another disk:
                uploader push --database photos.sqlite --to dir:/mnt/backup ~/Pictures
              Upload it to a bucket, with the keys of the AWS tools:
                uploader push --database photos.sqlite --to s3://photos/mine ~/Pictures
              Restore everything:
                uploader pull --database photos.sqlite --all --output ~/Restored
            """,
        version: "0.1.0",
        subcommands: commands + HelpTopics.all)

    private static var commands: [any ParsableCommand.Type] {
        [
            PushCommand.self, BackupCommand.self, ResumeCommand.self, StatusCommand.self, ListCommand.self,
            PullCommand.self, RecoverCommand.self, RemoveCommand.self, SyncCommand.self, VerifyCommand.self,
            FreeCommand.self, PinCommand.self, UnpinCommand.self, SettingsCommand.self, ConfigCommand.self,
            ReportCommand.self,
        ]
    }

    public init() {}
}
