import ArgumentParser
import CommandLineOptions
import Foundation

/// A command that lists options from variables and the configuration file.
struct ServerConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Shows options from environment variables and the configuration file.",
        subcommands: [Show.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows each option that has a value, with the variable or file that it comes from.",
            discussion: """
                Each option has a variable, such as LFS_SERVER_LISTEN for --listen. It can also be in the YAML file \
                ~/.config/lfs/lfs-server.yaml, or the one that LFS_SERVER_CONFIG names. The command line takes \
                precedence over variables, and variables over the file.
                """)

        func run() throws {
            let sources = LFSServerCommand.sources
            let values = try sources.values(of: LFSServerCommand.self)
            for value in values { Console.print("\(value.name)  \(value.shown)  (\(value.source))") }
            if values.isEmpty {
                let path = sources.path
                Console.message(
                    FileManager.default.fileExists(atPath: path)
                        ? "No option has a value from a variable or the configuration file \(path)."
                        : "No option has a value from a variable, and there is no configuration file \(path).")
            }
            for variable in try sources.unknownVariables(of: LFSServerCommand.self) {
                Console.message("\(variable) is not the variable of an option.")
            }
        }
    }
}
