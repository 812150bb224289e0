import ArgumentParser
import CommandLineOptions
import Foundation
import LFSStorage

@main
enum Entry {
    static func main() async {
        // The environment contains the keys of a store.
        CoreDumps.disable()
        OpenFiles.raiseLimit()
        do throws(StorageError) {
            try Threads.check()
        } catch {
            // The first task would already need a thread. An error of this write cannot be reported.
            try? FileHandle.standardError.write(contentsOf: Data("lfs-server: \(error.message)\n".utf8))
            exit(1)
        }
        let typed = Array(CommandLine.arguments.dropFirst())
        if let complaint = CommandNameCheck.complaint(typed) {
            Console.message("lfs-server: \(complaint)")
            exit(ExitCode.validationFailure.rawValue)
        }
        var completed: CompletedArguments?
        do {
            let all = try LFSServerCommand.sources.completing(
                CommandNameCheck.spellingOut(typed), of: LFSServerCommand.self)
            completed = all
            var command = try await LFSServerCommand.asyncParseAsRoot(all.arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            if LFSServerCommand.exitCode(for: error) == .validationFailure, let explanation = completed?.explanation {
                Console.message(explanation)
            }
            LFSServerCommand.exit(withError: error)
        }
    }
}
