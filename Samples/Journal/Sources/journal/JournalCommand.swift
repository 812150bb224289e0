import ArgumentParser

/// The command `journal`: shows a journal, fills it, and takes it from a folder into a database and back.
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Keeps a journal of time and pictures, in a folder or in a database that offloads its pictures.",
        discussion: """
            EXAMPLES
              Show a journal in the browser, at http://127.0.0.1:8080/:
                journal serve --database journal.sqlite --storage dir:/mnt/backup
              Fill a database with 500 records and 200 pictures to look at:
                journal demo --database journal.sqlite --storage dir:/mnt/backup
              Take a journal from a folder into a database, and back into another folder:
                journal import ~/Documents/Journal --database journal.sqlite \\
                  --storage 's3://bucket/mine?endpoint=https://host&region=eu-west-1'
                journal export ~/Copy --database journal.sqlite --storage s3://bucket/mine

            STORAGE
              dir:PATH             a folder: a mounted share, another disk
              s3://bucket/prefix   a bucket; endpoint, region, profile and addressing
                                   (automatic, path or virtual) follow after a question mark.
                                   Keys are taken from where the AWS tools take them, or from
                                   'journal secrets set-storage'.

            Pictures are offloaded in the background while a command runs; what is left then goes
            with the next one.

            EXIT STATUS
              0    everything that was asked for is done
              1    the command could not do its job
              3    something of the journal is damaged and was left out; it is named
              64   the command line is wrong
            """,
        version: "0.1.0",
        subcommands: [ServeCommand.self, DemoCommand.self, ImportCommand.self, ExportCommand.self, SecretsCommand.self])
}
