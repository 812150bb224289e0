import ArgumentParser
import CommandLineOptions
import Foundation

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show options from environment variables and the configuration file.",
        subcommands: [Show.self])

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show each option that has a value, with the variable or file that it comes from.",
            discussion: """
                'uploader help environment' describes the variables and the file.

                EXAMPLES
                  Keep the database of all commands in a variable:
                    export UPLOADER_DATABASE=/srv/photos.sqlite
                    uploader config show
                """)

        func run() throws {
            let sources = Uploader.sources
            let values = try sources.values(of: Uploader.self)
            let width = values.map(\.name.utf8.count).max() ?? 0
            for value in values {
                let name = Format.column(value.name, width: width)
                Console.result("\(name)  \(Printable.text(value.shown))  (\(Printable.text(value.source)))")
            }
            for variable in try sources.unknownVariables(of: Uploader.self) {
                Console.message("\(Printable.text(variable)) is not the variable of an option.")
            }
            if !FileManager.default.fileExists(atPath: sources.path) {
                Console.message("There is no configuration file \(Printable.text(sources.path)).")
            }
        }
    }
}
