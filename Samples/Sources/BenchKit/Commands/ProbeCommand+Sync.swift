import ArgumentParser

/// What the commands of `sync` start.
extension ProbeCommand {
    struct SyncMaking: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-maker")

        @Option var rows: Int
        @Option var sessions: Int
        @Option var folder: String

        func run() async throws { try await SyncMaker(rows: rows, sessions: sessions, folder: folder).run() }
    }

    struct FirstSync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sync-first")

        @Option var server: String
        @Option var source: String
        @Option var session: Int
        @Option var folder: String

        func run() async throws {
            let probe = FirstSyncProbe(server: server, source: source, session: session, folder: folder)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct RowCopy: AsyncParsableCommand {
        @Flag(exclusivity: .exclusive) var way: Way
        @Option var source: String
        @Option var folder: String

        enum Way: String, EnumerableFlag {
            case scan, select
        }

        func run() async throws {
            let probe = RowCopyProbe(way: way == .scan ? .scan : .select, source: source, folder: folder)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }
}
