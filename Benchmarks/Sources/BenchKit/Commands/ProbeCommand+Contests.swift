import ArgumentParser

/// The probes of the commands `settings` and `cache`.
extension ProbeCommand {
    struct Settings: AsyncParsableCommand {
        @Option var turns: Int
        @Option var only: String
        @Option var folder: String

        func run() async throws {
            let probe = SettingsProbe(folder: folder, turns: turns, only: only)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }

    struct Cache: AsyncParsableCommand {
        @Option var turns: Int
        @Option var entries: Int
        @Option var only: String
        @Option var folder: String

        func run() async throws {
            let probe = CacheProbe(folder: folder, turns: turns, entries: entries, only: only)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }
}
