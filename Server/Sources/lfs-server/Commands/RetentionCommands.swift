import ArgumentParser
import CommandLineOptions
import LFSSyncServer

/// A command that removes the records of old deletions.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune", abstract: "Removes records of old deletions, and expired sessions.",
        discussion: """
            A device that was offline for longer than --older-than starts over and receives all rows again. 'serve' \
            does the same once a day after 90 days, and may run at the same time.
            """)

    @OptionGroup var sync: SyncStoreOptions
    @Option(
        help: ArgumentHelp(
            "Remove records of deletions older than this, at least 1d. The default is 90d.", valueName: "time"),
        transform: TimeSpan.parseFinite)
    var olderThan = TimeSpan.days(90)

    func validate() throws {
        guard olderThan.seconds >= 86_400 else { throw ValidationError("--older-than has to be at least 1d.") }
    }

    func run() async throws {
        let age = Duration.seconds(olderThan.seconds)
        let count = try await sync.withService { try await $0.prune(olderThan: age) }
        Console.print("The records of \(count) deletions were removed.")
    }
}

/// A command that makes devices start over after a restore.
struct RestoredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restored",
        abstract: "Makes all devices start over after the database was restored from a backup.",
        discussion: """
            Run this command after the restore and before 'serve'. Devices keep their rows, receive the rows of the \
            server, and send the rows that it lacks.

            EXAMPLES
              Restore the database from a backup:
                cp backup.sqlite sync.sqlite
                lfs-server restored --database sync.sqlite
            """)

    @OptionGroup var sync: SyncStoreOptions

    func run() async throws {
        try await sync.withService { try await $0.restored() }
        Console.print("Each device starts over at its next sync.")
    }
}
