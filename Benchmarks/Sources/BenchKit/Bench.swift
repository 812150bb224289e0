public import ArgumentParser

/// The command `lfs-bench`, which compares the uploader with other tools and measures the library's cost to an app.
public struct Bench: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "lfs-bench",
        abstract: "Measures LFS: against the tools that people copy files with, and what an app feels of it.",
        discussion: """
            EXAMPLE
              lfs-bench throughput --files 2000 --size 10KiB --endpoint http://127.0.0.1:8333 --bucket test
              lfs-bench throughput --files 2 --size 512MiB --to-folder /mnt/disk --tools lfs,whole-way,cp
              lfs-bench verify --files 100000 --endpoint http://127.0.0.1:8333 --bucket test
              lfs-bench download --files 1 --size 512MiB --endpoint http://127.0.0.1:8333 --bucket test
              lfs-bench delete --files 2000 --endpoint http://127.0.0.1:8333 --bucket test
              lfs-bench interference
              lfs-bench ingest --files 2000 --large-size 512MiB
              lfs-bench backlog --rows 10000,100000
              lfs-bench settings
              lfs-bench cache
              lfs-bench sync first --server Server/.build/release/lfs-server --rows 100000

            EXIT STATUS
              0    every run succeeded
              1    a run failed, or the benchmark could not begin
              64   the command line is wrong
              130  interrupted by Ctrl-C, 143 by SIGTERM
            """,
        version: "0.1.0",
        subcommands: [
            ThroughputCommand.self, VerifyCommand.self, InterferenceCommand.self, BacklogCommand.self,
            IngestCommand.self, DownloadCommand.self, DeleteCommand.self, SyncCommand.self, SettingsCommand.self,
            CacheCommand.self, ProbeCommand.self,
        ])

    public init() {}
}

/// An error that prevents or stops a benchmark, with a sentence for the user.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
