import ArgumentParser
import Foundation

/// The command that measures sync on devices and on their server.
struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Measure sync: devices, and a server of theirs on this machine.",
        discussion: """
            The server is a built lfs-server, with its database in TMPDIR; devices speak to it
            through 127.0.0.1. A row has five columns and an index, about 300 bytes as a line.
            """,
        subcommands: [
            First.self, Growth.self, Changes.self, Idle.self, Resume.self, Writes.self, Live.self, Readers.self,
        ])

    struct First: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare a first sync with SQLite's own scan and insert.",
            discussion: """
                sync             all rows into an empty database of an app, until synchronize() has
                                 returned; device and server are processes of their own
                scan and insert  GRDB reads the same rows from the server's database, in the same
                                 order, and binds each to an INSERT into a table with the same
                                 indexes that nobody shares, 1,000 in a transaction: one process,
                                 one thread, no JSON, no network
                insert select    the same, but with INSERT … SELECT: no row leaves SQLite
                """)

        @Option(name: .long, help: "Numbers of rows, separated by commas.", transform: SyncCommand.sizes)
        var rows = [100_000]
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var database: SyncDatabaseOptions
        @OptionGroup var rounds: RoundOptions

        func run() throws {
            try SyncCommand.run(rows, server: server, database: database, rounds: rounds, hasRivals: true)
        }
    }

    struct Growth: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure how the time of a first sync grows with the rows.")

        @Option(name: .long, help: "Numbers of rows, separated by commas.", transform: SyncCommand.sizes)
        var rows = [10_000, 100_000, 1_000_000]
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var database: SyncDatabaseOptions
        @OptionGroup var rounds: RoundOptions

        func run() throws {
            try SyncCommand.run(rows, server: server, database: database, rounds: rounds, hasRivals: false)
        }
    }

    private static func run(
        _ rows: [Int], server: LFSServerOptions, database: SyncDatabaseOptions, rounds: RoundOptions,
        hasRivals: Bool
    ) throws {
        try measuring { environment, temporary, runner in
            let comparison = FirstSyncComparison(
                server: try server.path(from: environment), database: database.database, rounds: rounds.rounds,
                hasRivals: hasRivals, temporary: temporary,
                probes: ProbeRunner(runner: runner, environment: environment))
            try rounds.show(FirstSyncReport(sizes: try comparison.run(rows)))
            return true
        }
    }

    static func sizes(_ text: String) throws -> [Int] {
        let parts = text.split(separator: ",").map(String.init)
        let sizes = parts.compactMap(Int.init)
        guard !sizes.isEmpty, sizes.count == parts.count, Set(sizes).count == sizes.count,
            sizes.allSatisfy({ (1...10_000_000).contains($0) })
        else {
            throw ValidationError("'\(text)' is not a list of different numbers. Write, for example, 10000,100000.")
        }
        return sizes
    }
}

/// The database of the sync server.
struct SyncDatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A database of PostgreSQL, with the password in PGPASSWORD, into which the rows are pushed first. A file of \
            SQLite by default. The processes of PostgreSQL itself are not counted.
            """, valueName: "url"))
    var database: String?
}

/// The sync server of the devices.
struct LFSServerOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The built lfs-server. The default is LFS_SERVER in the environment.", valueName: "path"))
    var server: String?

    /// - Throws: `BenchError` without a server.
    func path(from environment: [String: String]) throws -> String {
        guard let path = server ?? environment["LFS_SERVER"], !path.isEmpty else {
            throw BenchError("Give --server or set LFS_SERVER: the path of lfs-server, built with -c release.")
        }
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchError("'\(path)' is not an executable file.")
        }
        return URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
