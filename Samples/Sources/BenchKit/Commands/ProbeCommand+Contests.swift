import ArgumentParser

/// What the commands `settings` and `cache` start.
extension ProbeCommand {
    struct Settings: AsyncParsableCommand {
        @Option var turns: Int
        @Option var folder: String

        func run() async throws {
            Console.result(try JSONDocument.text(try await SettingsProbe(folder: folder, turns: turns).run()))
        }
    }

    struct Cache: AsyncParsableCommand {
        @Option var turns: Int
        @Option var entries: Int
        @Option var folder: String

        func run() async throws {
            let probe = CacheProbe(folder: folder, turns: turns, entries: entries)
            Console.result(try JSONDocument.text(try await probe.run()))
        }
    }
}
