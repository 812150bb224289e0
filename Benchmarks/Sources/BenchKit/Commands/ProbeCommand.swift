import ArgumentParser

/// A hidden command that measures in its own process and prints the result as JSON. The other commands start it.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe", abstract: "Measure in this process. The other commands start it.", shouldDisplay: false,
        subcommands: [
            Interference.self, MakeBacklog.self, Backlog.self, Idle.self, Ingest.self, Upload.self, Download.self,
            Delete.self, SyncMaking.self, FirstSync.self, RowCopy.self, SyncLive.self, SyncReaders.self,
            SyncLoading.self, SyncChanges.self, SyncIdle.self, SyncResume.self, SyncWrites.self, Settings.self,
            Cache.self,
        ])

    struct Interference: AsyncParsableCommand {
        @Option var files: Int
        @Option var bytes: Int
        @Option var writes: Int
        @Option var pause: Int
        @Option var latency: Int
        @Option var connections: Int
        @Option var folder: String

        func run() async throws {
            let probe = InterferenceProbe(
                files: files, bytesPerFile: bytes, writes: writes, pause: .milliseconds(pause),
                latency: .milliseconds(latency), connections: connections, folder: folder)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct MakeBacklog: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "backlog-maker")

        @Option var rows: Int
        @Option var withBytes: Int
        @Option var folder: String

        func run() async throws {
            try await BacklogMaker(rows: rows, withBytes: withBytes, bytesPerFile: 1_024, folder: folder).run()
        }
    }

    struct Backlog: AsyncParsableCommand {
        @Option var uploads: Int
        @Option var folder: String

        func run() async throws {
            Console.result(try JSONDocument.text(try await BacklogProbe(uploads: uploads, folder: folder).run()))
        }
    }

    struct Idle: AsyncParsableCommand {
        @Option var seconds: Double
        @Option var folder: String

        func run() async throws {
            Console.result(
                try JSONDocument.text(try await IdleProbe(seconds: seconds, files: 10, folder: folder).run()))
        }
    }

    struct Ingest: AsyncParsableCommand {
        @Flag(exclusivity: .exclusive) var way: Variant
        @Option var source: String
        @Option var folder: String

        enum Variant: String, EnumerableFlag {
            case each, batches
        }

        func run() async throws {
            let probe = IngestProbe(source: source, folder: folder)
            let times = way == .each ? try await probe.each() : try await probe.batches()
            Console.result(try JSONDocument.text(times))
        }
    }

    struct Place: ParsableArguments {
        @Option var bucket: String
        @Option var prefix: String
        @Option var provider: String?
        @Option var connections: Int
        @Option var folder: String

        var probe: BucketProbe {
            BucketProbe(
                bucket: bucket, prefix: prefix, provider: provider, connections: connections, folder: folder)
        }
    }

    struct Upload: AsyncParsableCommand {
        @OptionGroup var place: Place
        @Option var source: String

        func run() async throws { try await place.probe.upload(source) }
    }

    struct Download: AsyncParsableCommand {
        @OptionGroup var place: Place

        func run() async throws { try await place.probe.download() }
    }

    struct Delete: AsyncParsableCommand {
        @OptionGroup var place: Place

        func run() async throws { try await place.probe.delete() }
    }
}
