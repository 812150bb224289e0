import ArgumentParser

/// The probes of the commands of `sync`.
extension ProbeCommand {
    struct SyncMaking: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-maker")

        @Option var rows: Int
        @Option var sessions: Int
        @Option var partners = 0
        @Option var folder: String

        func run() async throws {
            try await SyncMaker(rows: rows, sessions: sessions, partners: partners, folder: folder).run()
        }
    }

    struct FirstSync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-first")

        @Option var server: String
        @Option var source: String
        @Option var session: Int
        @Option var folder: String
        @Option var database: String?

        func run() async throws {
            let probe = FirstSyncProbe(
                server: server, source: source, session: session, folder: folder, database: database)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncLoading: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-loader")

        @Option var server: String
        @Option var database: String
        @Option var rows: Int
        @Option var sessions: Int
        @Option var folder: String

        func run() throws {
            try SyncLoader(server: server, database: database, rows: rows, sessions: sessions, folder: folder).run()
        }
    }

    struct RowCopy: AsyncParsableCommand {
        @Flag(exclusivity: .exclusive) var way: Variant
        @Option var source: String
        @Option var folder: String

        enum Variant: String, EnumerableFlag {
            case scan, select
        }

        func run() async throws {
            let probe = RowCopyProbe(way: way == .scan ? .scan : .select, source: source, folder: folder)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncLive: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-live")

        @Option var server: String
        @Option var source: String
        @Option var sessions: Int
        @Option var commits: Int

        func run() async throws {
            let probe = SyncLiveProbe(server: server, source: source, sessions: sessions, commits: commits)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncChanges: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-changes")

        @Option var server: String
        @Option var source: String
        @Option var folder: String
        @Option var rows: Int
        @Option var changes: Int
        @Option var times: Int

        func run() async throws {
            let probe = SyncChangesProbe(
                server: server, source: source, folder: folder, rows: rows, changes: changes, times: times)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncReaders: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-readers")

        @Option var server: String
        @Option var source: String
        @Option var readers: Int
        @Option var rate: Int
        @Option var seconds: Double

        func run() async throws {
            let probe = SyncReadersProbe(
                server: server, source: source, readers: readers, rate: rate, seconds: seconds)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncIdle: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-idle")

        @Option var server: String
        @Option var source: String
        @Option var folder: String
        @Option var scopes: Int
        @Option var times: Int

        func run() async throws {
            let probe = SyncIdleProbe(server: server, source: source, folder: folder, scopes: scopes, times: times)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncResume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-resume")

        @Option var server: String
        @Option var source: String
        @Option var session: Int
        @Option var folder: String
        @Option var cuts: Int

        func run() async throws {
            let probe = SyncResumeProbe(server: server, source: source, session: session, folder: folder, cuts: cuts)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct SyncWrites: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-writes")

        @Option var server: String
        @Option var source: String
        @Option var session: Int
        @Option var folder: String
        @Option var writes: Int
        @Option var pause: Int

        func run() async throws {
            let probe = SyncWritesProbe(
                server: server, source: source, session: session, folder: folder, writes: writes,
                pause: .milliseconds(pause))
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }
}
