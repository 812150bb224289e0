package import ArgumentParser

/// A part of the help that does not belong to one command. `uploader help TOPIC` prints its discussion.
///
/// Topics are hidden commands, so that each has a manual page.
protocol HelpTopic: ParsableCommand {}

extension HelpTopic {
    func run() throws { Console.help(Self.configuration.discussion) }
}

/// The topics of the help.
package enum HelpTopics {
    package static var all: [any ParsableCommand.Type] {
        [
            EnvironmentTopic.self, ExitStatusTopic.self, FiltersTopic.self, NamesTopic.self, OptionsTopic.self,
            RestoringTopic.self, SavingTopic.self, StoragesTopic.self, VerifyingTopic.self,
        ]
    }

    /// Replaces `help TOPIC` in a command line by `TOPIC`. The parser's help would add a usage and the common options.
    package static func spellingOut(_ arguments: [String]) -> [String] {
        guard arguments.count == 2, arguments[0] == "help",
            all.contains(where: { $0.configuration.commandName == arguments[1] })
        else { return arguments }
        return [arguments[1]]
    }
}
