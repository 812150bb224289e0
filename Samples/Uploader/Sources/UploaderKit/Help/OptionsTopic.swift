import ArgumentParser
import Foundation

struct OptionsTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "options",
        abstract: "The options that many commands share.",
        discussion: """
            'push', 'backup', 'resume', 'pull', 'remove', 'sync' and 'verify' have these
            options, except that 'verify' has no --sync, and only 'pull' has those for
            archived files. Some other commands have --json and --quiet. 'uploader COMMAND
            --help-hidden' lists all options of a command.

            \(SharedOptions.helpMessage(includeHidden: true, columns: 79).trimmingCharacters(in: .newlines))
            """,
        shouldDisplay: false)

    /// The shared options, in a command without a usage and a help option.
    private struct SharedOptions: ParsableCommand {
        static let configuration = CommandConfiguration(usage: "", helpNames: [])

        @OptionGroup(title: "Transfer") var transfer: TransferOptions
        @OptionGroup(title: "Output") var output: OutputOptions
        @OptionGroup(title: "Other devices") var server: SyncServerOptions
        @OptionGroup(title: "Archived files") var archive: ArchiveOptions
    }
}
