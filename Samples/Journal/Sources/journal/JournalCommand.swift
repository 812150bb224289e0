import ArgumentParser

/// The command `journal`, which serves a journal, fills it, and copies it from a folder into a database and back.
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Keeps a journal of time and pictures, in a folder or in a database.",
        discussion: """
            STORAGE
              dir:PATH             a folder, such as a mounted share or another disk
              s3://bucket/prefix   a bucket; endpoint, region, profile and addressing
                                   (automatic, path, virtual) follow after a '?'. Keys are
                                   those of the AWS tools or 'journal secrets set-storage'.

            A running command uploads pictures in the background. The next command
            uploads the rest.

            EXIT STATUS
              0    the command succeeded
              1    the command failed
              3    damaged parts of the journal were left out, and are listed
              64   the command line is invalid

            EXAMPLES
              Show a journal in the browser, at http://127.0.0.1:8080/:
                journal serve --database journal.sqlite --storage dir:/mnt/backup
              Fill a database with 500 records and 200 pictures to look at:
                journal demo --database journal.sqlite --storage dir:/mnt/backup
              Import a folder into a database, and export it into another folder:
                journal import ~/Documents/Journal --database journal.sqlite \\
                  --storage 's3://bucket/mine?endpoint=https://host&region=eu-west-1'
                journal export ~/Copy --database journal.sqlite --storage s3://bucket/mine
            """,
        version: "0.1.0",
        subcommands: [
            ServeCommand.self, DemoCommand.self, ImportCommand.self, ExportCommand.self, SecretsCommand.self,
            AccountCommand.self,
        ])
}
