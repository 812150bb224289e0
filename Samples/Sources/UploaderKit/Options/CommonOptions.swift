import ArgumentParser
import Foundation
import LFS
import LFSStorage
import Logging

/// What every command needs.
struct DatabaseOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("The SQLite database that holds the records.", valueName: "path"),
        completion: .file(), transform: DatabaseFile.path(of:))
    var database: String

    func validate() throws {
        if database.isEmpty { throw ValidationError("--database is empty. Give it the path of a file.") }
        if FilePath(argument: database).text == nil {
            throw ValidationError(
                "The path of --database is no UTF-8, which a database's has to be. Give one that is, such as a link's.")
        }
    }
}

/// What every command that uploads needs.
struct TransferOptions: ParsableArguments {
    @Option(name: .long, help: StorageArgument.help, completion: .storage, transform: GivenStorage.init(parsing:))
    var to: GivenStorage?

    @Flag(name: .long, help: "Use this storage from now on, although the database remembers another one.")
    var changeStorage = false

    @Flag(
        name: .long,
        help: "Leave the objects of removed and replaced files where the keys may not delete; that is no failure then.")
    var keepRemovedObjects = false

    @Flag(
        name: .long,
        help: "Send credentials to the storage that the database remembers, although --to has never named its host.")
    var trustStorage = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where bytes wait until their record is committed; a folder inside the database's own by default.",
            valueName: "dir"), completion: .directory)
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
        help: ArgumentHelp("Bytes per second of all transfers together, such as 2MiB; not for dir:.", valueName: "size")
    )
    var limitRate: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            End when for this long no byte was accepted and no file got through: 90s, 30m, 2h, never. Unless it is \
            never, a storage that refuses everything from the start, for wrong keys or a wrong name, ends the run \
            after some seconds.
            """, valueName: "time"))
    // Longer than a server takes to come back from an update or a router from a restart, and short enough for a job
    // that runs every night: what is left waits for the next run.
    var giveUpAfter = TimeSpan.minutes(30)

    /// The files and folders that a run with these options writes to itself.
    ///
    /// - Parameter database: the database's file with links resolved, as SQLite resolves them.
    func ownPaths(database: String, _ storage: StorageArgument) -> [String] {
        ["", "-wal", "-shm", "-journal", MoveLock.suffix, ".lfs"].map { database + $0 }
            + [storage.localPath, persistenceLocation].compactMap(\.self)
    }

    /// The storage of the command line, else the one that the database remembers.
    ///
    /// - Throws: `ValidationError` when there is none, and when an option does not go with it.
    func storage(for file: DatabaseFile) throws -> GivenStorage {
        if let to { return to }
        guard let remembered = file.remembered else {
            throw ValidationError(
                """
                Give the storage with --to, such as --to dir:/mnt/backup: \(file.path) has none yet that it remembers.
                """)
        }
        let given = try GivenStorage(parsing: remembered)
        try requireSuitable(given.argument)
        return given
    }

    /// Opens the storage, if it is the one that the database's files are on.
    ///
    /// - Parameters:
    ///   - makes: whether a folder that is not there may be made.
    ///   - writes: whether it has to take writes.
    func openStorage(for file: DatabaseFile, makes: Bool, writes: Bool = true) async throws -> OpenedStorage {
        let given = try storage(for: file)
        let location = try given.argument.location()
        try StorageMemory.require(location, file, changes: changeStorage, makes: makes, isGiven: to != nil)
        try given.argument.requireEncryption()
        if let host = given.argument.namedHost {
            let hosts = TrustedHosts()
            if to != nil {
                hosts.note(host)
            } else {
                try hosts.require(host, of: location.argument, isAllowed: trustStorage)
            }
        }
        return OpenedStorage(
            storage: try await given.argument.open(self, writes: writes), location: location, given: given)
    }

    /// How a manager works with these options.
    func managerOptions(_ storage: any RemoteStorage) -> LFSOptions {
        var options = LFSOptions(storage: storage, maxExecutors: maxExecutors)
        options.persistenceLocation = persistenceLocation.map { URL(fileURLWithPath: $0, isDirectory: true) }
        // What happens to files is told by the report; the library's log would say it twice.
        options.logger.logLevel = .critical
        // With the last copy of the database it has to fit into the time that ``Interruption`` leaves.
        options.shutdownTimeout = .seconds(3)
        return options
    }

    func validate() throws {
        guard (1...1_000).contains(maxExecutors) else {
            throw ValidationError("--max-executors has to be a number from 1 to 1000.")
        }
        if limitRate?.bytes == 0 {
            throw ValidationError("--limit-rate has to be at least one byte per second. Leave it out for no limit.")
        }
        if let to { try requireSuitable(to.argument) }
        if changeStorage, to == nil { throw ValidationError("--change-storage needs --to with the new one.") }
        if let size = partSize?.bytes, !(5 << 20...5 << 30).contains(size) {
            throw ValidationError("--part-size has to be a size from 5MiB to 5GiB.")
        }
    }
}

extension TransferOptions {
    /// - Throws: `ValidationError` for options that mean nothing to a storage.
    fileprivate func requireSuitable(_ storage: StorageArgument) throws {
        if partSize != nil, !storage.takesParts {
            throw ValidationError("--part-size is for s3:// and azure:// only.")
        }
        if limitRate != nil, storage.localPath != nil {
            throw ValidationError("--limit-rate is for storages on servers, and not for dir:.")
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

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Append to this file what --verbose shows, and all messages, with times.", valueName: "path"),
        completion: .file())
    var logFile: String?

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
