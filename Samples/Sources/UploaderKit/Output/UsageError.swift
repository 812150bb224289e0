import ArgumentParser
import Foundation

extension Uploader {
    /// Runs the command that the command line names, and ends the process with its status.
    public static func start() async -> Never {
        let arguments = ReadShare.spellingOut(Array(CommandLine.arguments.dropFirst()))
        if let complaint = CommandNames.complaint(arguments) {
            Console.message("uploader: \(redacted(complaint))")
            Foundation.exit(ExitCode.validationFailure.rawValue)
        }
        if let script = StorageCompletion.script(arguments) {
            Console.help(script)
            Foundation.exit(0)
        }
        var type: (any ParsableCommand.Type)?
        do {
            var command = try await asyncParseAsRoot(arguments)
            type = Swift.type(of: command)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Foundation.exit(0)
        } catch {
            end(error, type)
        }
    }

    /// What the parser says of a wrong command line repeats parts of it, and those may be anything.
    ///
    /// - Parameter type: the command that has found the error itself, which the parser does not know any more.
    private static func end(_ error: any Error, _ type: (any ParsableCommand.Type)?) -> Never {
        let status = exitCode(for: error)
        var text = fullMessage(for: error)
        if let error = error as? ValidationError, let type {
            let name = "uploader \(type.configuration.commandName ?? "")"
            text = """
                Error: \(error.message)
                Usage: \(usageString(for: type))
                  See '\(name) --help' for more information.
                """
        }
        if status == .success {
            Console.help(text)
        } else {
            for line in redacted(text).split(separator: "\n", omittingEmptySubsequences: false) where !text.isEmpty {
                Console.message(String(line))
            }
        }
        Foundation.exit(status.rawValue)
    }

    /// The text without the keys of a storage that was written with them: they would stay in logs and on screens.
    package static func redacted(_ text: String) -> String {
        text.replacing(/:\/\/[^\s'"]*@/) { _ in "://…@" }
    }
}
