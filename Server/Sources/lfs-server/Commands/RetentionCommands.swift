import ArgumentParser
import LFSSyncServer

/// Forgets deletions.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune", abstract: "Forgets old deletions of shared rows, and sessions that have expired.",
        discussion: """
            A device that was away for longer gets all rows of what it lacks again. Run it once a day; 'serve' may go \
            on meanwhile.
            """)

    @OptionGroup var sync: SyncStoreOptions
    @Option(help: ArgumentHelp("Deletions that are older go.", valueName: "days"))
    var olderThan = 90

    func validate() throws {
        guard (1...36_500).contains(olderThan) else { throw ValidationError("--older-than has to be 1 day or more.") }
    }

    func run() async throws {
        let age = Duration.seconds(olderThan * 86_400)
        let count = try await sync.withService { try await $0.prune(olderThan: age) }
        Console.print("\(count) deletions were forgotten.")
    }
}

/// Tells devices of a restore.
struct RestoredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restored",
        abstract: "Tells all devices that the database was put back from a backup.",
        discussion: """
            Run it after the restore and before 'serve'. Devices keep what they have, take what is there, and send \
            what it lacks.
            """)

    @OptionGroup var sync: SyncStoreOptions

    func run() async throws {
        try await sync.withService { try await $0.restored() }
        Console.print("Each device begins anew at its next sync.")
    }
}
