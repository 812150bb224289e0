import ArgumentParser
import CommandLineOptions
import Foundation
import LFS
import LFSStorage
import Logging

/// The options of every command.
struct DatabaseOptions: ParsableArguments {
    @Option(
        name: .long, help: ArgumentHelp("The SQLite database with the records of the files.", valueName: "path"),
        completion: .file(), transform: DatabaseFile.path(of:))
    var database: String

    func validate() throws {
        if database.isEmpty { throw ValidationError("--database is empty. Give it the path of a file.") }
        if FilePath(argument: database).text == nil {
            throw ValidationError(
                "The path of --database is not UTF-8. Give one that is, such as that of a link.")
        }
    }
}

/// The options of every command that uploads.
struct TransferOptions: ParsableArguments {
    @Option(name: .long, help: StorageArgument.help, completion: .storage, transform: GivenStorage.init(parsing:))
    var to: GivenStorage?

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Use the storage of --to from now on, although the database remembers another one.", visibility: .detail))
    var changeStorage = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Create the bucket, the container or the WebDAV folder if it is missing.", visibility: .detail))
    var createStorage = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            """
            If the credentials do not permit deletions, keep the objects of removed and replaced files and report no \
            failure.
            """, visibility: .detail))
    var keepRemovedObjects = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            """
            Send credentials to the remembered storage and sync server, even if no command has named their hosts.
            """, visibility: .detail))
    var trustStorage = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The folder for bytes whose record is not committed yet. By default it is in DATABASE.lfs.",
            valueName: "dir", visibility: .detail), completion: .directory)
    var persistenceLocation: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The maximum number of concurrent uploads. The default is 10.", valueName: "count", visibility: .detail),
        transform: TransferOptions.executors)
    var maxExecutors = 10

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The size of the parts of large uploads, such as 16MiB. For s3 and azure only.", valueName: "size",
            visibility: .detail), transform: ByteSize.parse)
    var partSize: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The maximum rate of all transfers in bytes per second, such as 2MiB. Not for dir:.", valueName: "size",
            visibility: .detail), transform: ByteSize.parse)
    var limitRate: ByteSize?

    @OptionGroup var http: HTTPArguments

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            End the run after this time without progress: 90s, 1h30m or never. The default is 30m. A storage that \
            refuses everything from the start, for example for wrong keys, ends the run after some seconds unless it \
            is never.
            """, valueName: "time", visibility: .detail), transform: TimeSpan.parse)
    // Longer than a server needs for an update or a router for a restart, and short enough for a nightly job. The next
    // run uploads the rest.
    var giveUpAfter = TimeSpan.minutes(30)

    /// Returns the files and folders that a run with these options writes to.
    ///
    /// - Parameter database: the database's path with links resolved, as in SQLite.
    func ownPaths(database: String, _ storage: StorageArgument) -> [String] {
        ["", "-wal", "-shm", "-journal", MoveLock.suffix, ".lfs"].map { database + $0 }
            + [storage.localPath, persistenceLocation].compactMap(\.self)
    }

    /// Returns the storage from the command line, or else the one that the database records.
    ///
    /// - Throws: `ValidationError` if no storage is known, or if an option does not apply to it.
    func storage(for file: DatabaseFile) throws -> GivenStorage {
        if let to { return to }
        guard let remembered = file.remembered else {
            throw ValidationError(
                """
                Give the storage with --to, such as --to dir:/mnt/backup: \(file.path) does not remember one yet.
                """)
        }
        let given = try GivenStorage(parsing: remembered)
        try requireSuitable(given.argument)
        return given
    }

    /// Opens the storage, if it is the one with the database's files.
    ///
    /// - Parameters:
    ///   - makes: true if a missing folder may be created.
    ///   - writes: true if the storage must be writable.
    func openStorage(for file: DatabaseFile, makes: Bool, writes: Bool = true) async throws -> OpenedStorage {
        let given = try storage(for: file)
        let location = try given.argument.location()
        try StorageMemory.require(location, file: file, changes: changeStorage, makes: makes, isGiven: to != nil)
        try given.argument.requireEncryption()
        if let host = given.argument.namedHost {
            let hosts = TrustedHosts()
            if to != nil {
                hosts.note(host)
            } else {
                try hosts.require(
                    host, claim: "its files are on \(location.argument)", option: "--to with the storage",
                    isAllowed: trustStorage)
            }
        }
        return OpenedStorage(
            storage: try await given.argument.open(self, writes: writes), location: location, given: given)
    }

    /// Returns the manager's options.
    func managerOptions(_ storage: any RemoteStorage) -> LFSOptions {
        var options = LFSOptions(storage: storage, maxExecutors: maxExecutors)
        options.persistenceLocation = persistenceLocation.map { URL(fileURLWithPath: $0, isDirectory: true) }
        // The report shows what happens to files. The library's log would repeat it.
        options.logger.logLevel = .critical
        // Together with the last copy of the database, this must fit into the time limit of ``Interruption``.
        options.shutdownTimeout = .seconds(3)
        return options
    }

    func validate() throws {
        if limitRate?.bytes == 0 {
            throw ValidationError("--limit-rate has to be at least one byte per second. Leave it out for no limit.")
        }
        if giveUpAfter.seconds < 0.1 { throw ValidationError("--give-up-after has to be at least 100ms.") }
        if let to { try requireSuitable(to.argument) }
        if changeStorage, to == nil { throw ValidationError("--change-storage needs --to with the new storage.") }
        if let size = partSize?.bytes, !(5 << 20...5 << 30).contains(size) {
            throw ValidationError("--part-size has to be a size from 5MiB to 5GiB.")
        }
    }
}

extension TransferOptions {
    /// Parses the number of concurrent uploads.
    ///
    /// - Throws: `ValidationError` for anything else.
    @Sendable fileprivate static func executors(_ text: String) throws -> Int {
        guard let count = Int(text), (1...1_000).contains(count) else {
            throw ValidationError("Write a number from 1 to 1000.")
        }
        return count
    }

    /// - Throws: `ValidationError` for options that do not apply to a storage.
    fileprivate func requireSuitable(_ storage: StorageArgument) throws {
        if partSize != nil, !storage.takesParts {
            throw ValidationError("--part-size is for s3:// and azure:// only.")
        }
        if createStorage, case .signed = storage {
            throw ValidationError("--create-storage is not for signed URLs, because the server manages the storage.")
        }
        if limitRate != nil, storage.localPath != nil {
            throw ValidationError("--limit-rate is for storages on servers, and not for dir:.")
        }
    }
}

/// The options for the output.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object per event, and a summary at the end.")
    var json = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The progress display on standard error: auto, plain or none. The default is auto.", valueName: "style"),
        completion: .list(ProgressStyle.allCases.map(\.rawValue)), transform: ProgressStyle.parse)
    var progress = ProgressStyle.auto

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The time between two lines of plain progress. The default is 5s.", valueName: "time"),
        transform: TimeSpan.parseFinite)
    var progressInterval = TimeSpan.seconds(5)

    @Flag(name: .shortAndLong, help: "Show errors only.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Print each file that was attached or uploaded.")
    var verbose = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Append the output of --verbose and all messages to this file, with times.", valueName: "path"),
        completion: .file())
    var logFile: String?

    func validate() throws {
        guard (0.1...86_400).contains(progressInterval.seconds) else {
            throw ValidationError("--progress-interval has to be a time from 100ms to 1d.")
        }
    }
}

/// The style of the progress display.
enum ProgressStyle: String, CaseIterable {
    /// A redrawn line on a terminal, and plain lines otherwise.
    case auto
    /// A complete line every few seconds.
    case plain
    case none

    /// Parses a style for an option.
    ///
    /// - Throws: `ValidationError`, with the names of all styles.
    @Sendable static func parse(_ text: String) throws -> ProgressStyle {
        guard let style = ProgressStyle(rawValue: text) else { throw ValidationError("Write auto, plain or none.") }
        return style
    }
}
