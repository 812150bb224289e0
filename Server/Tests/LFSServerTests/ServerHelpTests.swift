import ArgumentParser
import Testing

@testable import lfs_server

@Suite("Help of lfs-server")
struct ServerHelpTests {
    /// Returns a command, its subcommands and their subcommands, without topics.
    private static func commands(
        of command: any ParsableCommand.Type = LFSServerCommand.self
    ) -> [any ParsableCommand.Type] {
        [command]
            + command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap { commands(of: $0) }
    }

    /// Returns the names of the options that a help lists.
    private static func options(in help: String) -> Set<String> {
        let lines = help.split(separator: "\n").filter { $0.hasPrefix("  --") }
        return Set(lines.map { String($0.dropFirst(2).prefix { $0 != " " && $0 != "," }) })
    }

    @Test("The help of each command of lfs-server has at most 25 lines and 3 examples")
    func lengths() {
        let commands = Self.commands()
        #expect(commands.count > 10)
        for command in commands {
            let lines = LFSServerCommand.helpMessage(for: command, columns: 100).split(separator: "\n")
            let start = lines.firstIndex(of: "EXAMPLES") ?? lines.endIndex
            let end = lines[start...].firstIndex { $0.hasPrefix("USAGE:") } ?? lines.endIndex
            let examples = lines[start..<end].filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            let count = lines.count - (end - start)
            #expect(count <= 25, "The help of \(command) has \(count) lines.")
            #expect(examples.count <= 3, "The help of \(command) has \(examples.count) examples.")
        }
    }

    @Test(arguments: [
        ("--stream-lifetime", "10m"), ("--remove-after", "1d"), ("--url-lifetime", "15m"),
        ("--shutdown-timeout", "20s"), ("--wait-for-database", "60s"), ("--log-level", "info"),
    ])
    func `The topic of the options has the default of an option`(_ option: String, value: String) throws {
        let lines = ServeOptionsTopic.configuration.discussion.split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("  \(option) ") })
        let help = lines[start...start] + lines[(start + 1)...].prefix { !$0.hasPrefix("  --") }
        let words = help.joined(separator: " ").split(separator: " ")
        #expect(words.joined(separator: " ").contains("The default is \(value)."))
    }

    @Test(
        "A wrong name of a command of lfs-server leads to the similar one",
        arguments: [["sesion", "list"], ["help", "sesion"]])
    func wrongName(_ words: [String]) {
        let complaint = CommandNameCheck.complaint(words)
        #expect(complaint?.hasPrefix("There is no command 'sesion'. Did you mean 'session'?") == true)
    }

    @Test("A wrong subcommand of lfs-server has a message, and right names have none")
    func subcommandName() {
        #expect(CommandNameCheck.complaint(["session", "lst"])?.contains("Did you mean 'list'?") == true)
        #expect(
            CommandNameCheck.complaint(["help", "unknown"])
                == "There is no command 'unknown'. 'lfs-server --help' lists them.")
        let right = [[], ["help"], ["--version"], ["help", "account", "quota"], ["session", "revoke", "x"]]
        for words in right { #expect(CommandNameCheck.complaint(words) == nil, "\(words)") }
    }

    @Test("Each hidden option of lfs-server is in the topic of the options")
    func reachable() {
        let described = Self.options(in: ServeOptionsTopic.configuration.discussion)
        var hidden: Set<String> = []
        for command in Self.commands() {
            let all = Self.options(
                in: LFSServerCommand.helpMessage(for: command, includeHidden: true, columns: 10_000))
            hidden.formUnion(
                all.subtracting(Self.options(in: LFSServerCommand.helpMessage(for: command, columns: 10_000))))
        }
        #expect(hidden.isSuperset(of: ["--jwt-keys", "--connections", "--shutdown-timeout", "--partners"]))
        #expect(hidden.subtracting(described).sorted() == [])
    }
}
