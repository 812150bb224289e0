import ArgumentParser

/// A server for the devices of apps that use LFS.
struct LFSServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lfs-server",
        abstract: "Hands out signed URLs, so that no device carries the secret of a store, and shares rows.",
        subcommands: [
            ServeCommand.self, TokenCommand.self, SessionCommand.self, SchemaCommand.self, PruneCommand.self,
            RestoredCommand.self,
        ])
}
