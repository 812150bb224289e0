import ArgumentParser
import Foundation
import Testing
import UploaderKit

@Suite("Help")
struct HelpTests {
    /// Returns a command, its subcommands and their subcommands, without the topics.
    private static func commands(of command: any ParsableCommand.Type = Uploader.self) -> [any ParsableCommand.Type] {
        [command]
            + command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap { commands(of: $0) }
    }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? String(describing: command)
    }

    /// Returns the names of the options that a help lists.
    private static func options(in help: String) -> Set<String> {
        let lines = help.split(separator: "\n").filter { $0.hasPrefix("  -") }
        return Set(
            lines.flatMap { line in
                line.dropFirst(2).split(separator: "  ", maxSplits: 1)[0].split(whereSeparator: { ", /".contains($0) })
            }.map(String.init).filter { $0.hasPrefix("--") })
    }

    /// Returns the words of a text that may be options.
    private static func words(in text: String) -> Set<String> {
        Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init))
    }

    @Test("The help of each command has at most 25 lines and 3 examples")
    func lengths() throws {
        let commands = Self.commands()
        #expect(commands.count > 15)
        for command in commands {
            let lines = Uploader.helpMessage(for: command, columns: 100).split(separator: "\n")
            let start = lines.firstIndex(of: "EXAMPLES") ?? lines.endIndex
            let end = lines[start...].firstIndex { $0.hasPrefix("USAGE:") } ?? lines.endIndex
            let examples = lines[start..<end].filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            let count = lines.count - (end - start)
            #expect(count <= 25, "The help of \(Self.name(command)) has \(count) lines.")
            #expect(examples.count <= 3, "The help of \(Self.name(command)) has \(examples.count) examples.")
        }
    }

    @Test("Each option is in the help of its command or in a topic")
    func reachable() throws {
        let topics = HelpTopics.all.map { $0.configuration.discussion }.joined(separator: "\n")
        // The tests use this option.
        let described = Self.words(in: topics).union(["--system-root"])
        var hidden: Set<String> = []
        for command in Self.commands() {
            let all = Self.options(in: Uploader.helpMessage(for: command, includeHidden: true, columns: 10_000))
            let shown = Self.options(in: Uploader.helpMessage(for: command, columns: 10_000))
            #expect(shown.isSubset(of: all) && shown.contains("--help"))
            hidden.formUnion(all.subtracting(shown))
        }
        #expect(hidden.count > 15)
        #expect(hidden.subtracting(described).sorted() == [])
    }

    @Test("Each command that the topic of shared options names has these options")
    func shared() throws {
        let topic = try #require(HelpTopics.all.first { Self.name($0) == "options" })
        for name in ["push", "backup", "resume", "pull", "remove", "sync", "verify"] {
            let command = try #require(Self.commands().first { Self.name($0) == name })
            var expected = Self.options(in: topic.configuration.discussion)
            if name != "pull" { expected = expected.filter { !$0.hasPrefix("--restore-") } }
            if name == "verify" { expected.remove("--sync") }
            let own = Self.options(in: Uploader.helpMessage(for: command, includeHidden: true, columns: 10_000))
            #expect(expected.count > 10)
            #expect(expected.subtracting(own).sorted() == [], "\(name)")
        }
    }

    @Test("The help names each topic, and no other")
    func topicNames() throws {
        let help = Uploader.configuration.discussion
        let sentence = try #require(help.components(separatedBy: "explains a topic: ").dropFirst().first)
        let list = sentence.components(separatedBy: ".")[0].split { ", \n".contains($0) }.map(String.init)
        #expect(list == HelpTopics.all.map(Self.name))
        #expect(HelpTopics.spellingOut(["help", "filters"]) == ["filters"])
        #expect(HelpTopics.spellingOut(["help", "push"]) == ["help", "push"])
    }

    @Test("The help of a command refers only to topics that exist")
    func references() throws {
        let topics = Set(HelpTopics.all.map(Self.name))
        for command in Self.commands() {
            let text = command.configuration.discussion
            for line in text.split(separator: "\n") where line.hasPrefix("More options: ") {
                let names = line.split(separator: "'").filter { $0.first?.isLetter == true }.dropFirst()
                let words = names.map { String($0).replacing("uploader help ", with: "") }
                #expect(!words.isEmpty && topics.isSuperset(of: words), "\(Self.name(command)): \(words)")
            }
        }
    }

    @Test(
        "The help names only commands of lfs-server that exist",
        .enabled(if: SyncServerProcess.path != nil), .timeLimit(.minutes(10)))
    func serverCommands() throws {
        var named: Set<String> = []
        for command in Self.commands() {
            let text = command.configuration.discussion.replacing("\n", with: " ")
            for match in text.matches(of: /'(lfs-server [a-z -]+)'/) { named.insert(String(match.output.1)) }
        }
        #expect(named.count > 1)
        try withFolder { folder in
            for name in named {
                let words = name.split(separator: " ").dropFirst().map(String.init)
                // The help of an unknown subcommand is the help of the command before it.
                let help = try SyncServerProcess.help(words, in: folder)
                #expect(help.contains("USAGE: \(name) "), "There is no command '\(name)'.")
            }
        }
    }

    @Test("The help of a topic prints its text, and the help of a command its options")
    func printed() throws {
        try withFolder { folder in
            for topic in HelpTopics.all {
                let run = try UploaderProcess.run("help", Self.name(topic), in: folder)
                #expect(run.status == 0 && run.output == topic.configuration.discussion + "\n")
            }
            let push = try UploaderProcess.run("help", "push", in: folder)
            #expect(push.status == 0 && push.output.contains("--free-uploaded"))
            #expect(!push.output.contains("--limit-rate"))
            let all = try UploaderProcess.run("push", "--help-hidden", in: folder)
            #expect(all.status == 0 && all.output.contains("--limit-rate"))
        }
    }

    @Test("Completions contain the options that only a topic describes")
    func completions() throws {
        try withFolder { folder in
            let run = try UploaderProcess.run("--generate-completion-script", "fish", in: folder)
            #expect(run.status == 0 && run.output.contains("limit-rate"))
        }
    }
}
