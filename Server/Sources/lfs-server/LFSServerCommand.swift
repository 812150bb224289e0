import ArgumentParser
import CommandLineOptions

/// The server for devices of apps that use LFS.
struct LFSServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lfs-server",
        abstract: "Signs URLs, so that devices need no credentials of the storage, and syncs rows.",
        discussion: """
            'lfs-server help COMMAND' shows the options of a command. 'lfs-server help
            options' shows all options of 'serve', including limits, sharing rules and the
            identity provider. Each option has a variable: LFS_SERVER_LISTEN is --listen.
            'lfs-server COMMAND --help-hidden' shows all options of a command.

            EXAMPLES
              Sign URLs for the bytes that this server stores:
                lfs-server token add --tokens tokens --account alice
                lfs-server serve --storage dir:objects --tokens tokens
              Let the devices of an account share rows and bytes:
                lfs-server session add --database sync.sqlite --account alice
                lfs-server serve --database sync.sqlite --storage dir:objects
            """,
        version: ServerVersion.text,
        subcommands: [
            ServeCommand.self, TokenCommand.self, SessionCommand.self, AccountCommand.self, SchemaCommand.self,
            PruneCommand.self, RestoredCommand.self, MoveCommand.self, ServerConfigCommand.self,
            ServeOptionsTopic.self,
        ])

    /// The variables and the file with values of options.
    static var sources: OptionSources { OptionSources(program: "lfs-server") }
}
