import ArgumentParser
import CommandLineOptions
import Foundation

extension Uploader {
    /// Runs the command that the command line names, and ends the process with its status.
    public static func start() async -> Never {
        let typed = Array(CommandLine.arguments.dropFirst())
        let arguments = HelpTopics.spellingOut(ReadShare.spellingOut(typed))
        if let complaint = CommandNames.complaint(arguments) {
            Console.message("uploader: \(redacted(ReadShare.spellingBack(complaint, arguments: typed)))")
            Foundation.exit(ExitCode.validationFailure.rawValue)
        }
        if let script = StorageCompletion.script(arguments) {
            Console.help(script)
            Foundation.exit(0)
        }
        var type: (any ParsableCommand.Type)?
        var completed: CompletedArguments?
        do {
            let all = try sources.completing(arguments, of: Uploader.self)
            completed = all
            var command = try await asyncParseAsRoot(all.arguments)
            type = Swift.type(of: command)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Foundation.exit(0)
        } catch {
            end(error, type: type, completed: completed)
        }
    }

    /// The variables and the file with values of options.
    static var sources: OptionSources { OptionSources(program: "uploader") }

    /// Prints an error and exits. The parser's message about a wrong command line repeats parts of it, which may be
    /// anything.
    ///
    /// - Parameters:
    ///   - type: the command that has found the error itself, which the parser no longer knows.
    ///   - completed: the command line with the options that it had from other places.
    private static func end(
        _ error: any Error, type: (any ParsableCommand.Type)?, completed: CompletedArguments?
    ) -> Never {
        let status = exitCode(for: error)
        let typed = Array(CommandLine.arguments.dropFirst())
        var text = ReadShare.spellingBack(fullMessage(for: error), arguments: typed)
        if let error = error as? ValidationError, let type {
            let name = "uploader \(type.configuration.commandName ?? "")"
            text = """
                Error: \(error.message)
                Usage: \(usageString(for: type))
                  See '\(name) --help' for more information.
                """
        }
        if status == .validationFailure, let explanation = completed?.explanation { text += "\n" + explanation }
        if status == .success {
            Console.help(text)
        } else {
            for line in redacted(text).split(separator: "\n", omittingEmptySubsequences: false) where !text.isEmpty {
                Console.message(String(line))
            }
        }
        Foundation.exit(status.rawValue)
    }

    /// Returns the text without the keys in a storage's address. They would stay in logs and on screens.
    package static func redacted(_ text: String) -> String {
        text.replacing(/:\/\/\S*@/) { _ in "://…@" }
    }
}
