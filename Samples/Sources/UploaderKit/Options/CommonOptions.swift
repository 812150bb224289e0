import ArgumentParser
import Foundation
import LFS
import LFSStorage
import Logging

/// What every command needs.
struct DatabaseOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The SQLite database that holds the records.", valueName: "path"))
    var database: String

    func validate() throws {
        if database.isEmpty { throw ValidationError("--database is empty. Give it the path of a file.") }
    }
}

/// What every command that uploads needs.
struct TransferOptions: ParsableArguments {
    @Option(name: .long, help: StorageArgument.help, transform: StorageArgument.init(parsing:))
    var to: StorageArgument

    @Flag(name: .long, help: "Use this storage from now on, although the database remembers another one.")
    var changeStorage = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where bytes wait until their record is committed; a folder inside the database's own by default.",
            valueName: "dir"))
    var persistenceLocation: String?

    @Option(name: .long, help: "How many uploads run at once at the most.")
    var maxExecutors = 10

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The size of the parts that large files go out in, such as 16MiB; s3 and azure only.", valueName: "size"))
    var partSize: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp("Bytes per second of all transfers together, such as 2MiB; s3 only.", valueName: "size"))
    var limitRate: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "End when for this long no byte was accepted and no file got through: 90s, 30m, 2h, never.",
            valueName: "time"))
    // Longer than a server takes to come back from an update or a router from a restart, and short enough for a job
    // that runs every night: what is left waits for the next run.
    var giveUpAfter = TimeSpan.minutes(30)

    /// The files and folders that a run with these options writes to itself.
    ///
    /// - Parameter database: the database's file with links resolved, as SQLite resolves them.
    func ownPaths(database: String) -> [String] {
        ["", "-wal", "-shm", "-journal", ".lfs"].map { database + $0 }
            + [to.localPath, persistenceLocation].compactMap(\.self)
    }

    /// Opens the storage, if it is the one that the database's files are on.
    ///
    /// - Parameter makes: whether a folder that is not there may be made.
    func openStorage(
        for file: DatabaseFile, makes: Bool
    ) async throws -> (storage: any RemoteStorage, location: StorageLocation) {
        let location = try to.location()
        try StorageMemory.require(location, file, changes: changeStorage, makes: makes)
        return (try await to.open(self), location)
    }

    /// How a manager works with these options.
    func managerOptions(_ storage: any RemoteStorage) -> LFSOptions {
        var options = LFSOptions(storage: storage, maxExecutors: maxExecutors)
        options.persistenceLocation = persistenceLocation.map { URL(fileURLWithPath: $0, isDirectory: true) }
        // What happens to files is told by the report; the library's log would say it twice.
        options.logger.logLevel = .critical
        return options
    }

    func validate() throws {
        guard (1...1_000).contains(maxExecutors) else {
            throw ValidationError("--max-executors has to be a number from 1 to 1000.")
        }
        if partSize != nil, !to.takesParts { throw ValidationError("--part-size is for s3:// and azure:// only.") }
        if limitRate != nil, to.localPath != nil { throw ValidationError("--limit-rate is for servers only.") }
        if let size = partSize?.bytes, !(5 << 20...5 << 30).contains(size) {
            throw ValidationError("--part-size has to be a size from 5MiB to 5GiB.")
        }
    }
}

/// What is shown, and how.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object for each event, the last one a summary.")
    var json = false

    @Option(name: .long, help: "How progress is shown on the standard error: auto, plain or none.")
    var progress = ProgressStyle.auto

    @Option(name: .long, help: "Seconds between two lines of plain progress.")
    var progressInterval = 5.0

    @Flag(name: .shortAndLong, help: "Show errors only.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Name each file that was attached or uploaded.")
    var verbose = false

    func validate() throws {
        guard progressInterval >= 0.1, progressInterval <= 86_400 else {
            throw ValidationError("--progress-interval has to be a number of seconds from 0.1 to 86400.")
        }
    }
}

/// How progress is shown.
enum ProgressStyle: String, ExpressibleByArgument, CaseIterable {
    /// A line that is redrawn on a terminal, plain lines elsewhere.
    case auto
    /// A whole line every few seconds.
    case plain
    case none
}
