import ArgumentParser
import Testing

@testable import journal

@Suite("Help of journal")
struct JournalHelpTests {
    /// Returns a command, its subcommands and their subcommands.
    private static func commands(
        of command: any ParsableCommand.Type = JournalCommand.self
    ) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap { commands(of: $0) }
    }

    @Test("The help of each command of journal has at most 25 lines and 3 examples")
    func lengths() {
        let commands = Self.commands()
        #expect(commands.count > 8)
        for command in commands {
            let lines = JournalCommand.helpMessage(for: command, columns: 100).split(separator: "\n")
            let start = lines.firstIndex(of: "EXAMPLES") ?? lines.endIndex
            let end = lines[start...].firstIndex { $0.hasPrefix("USAGE:") } ?? lines.endIndex
            let examples = lines[start..<end].filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            let count = lines.count - (end - start)
            #expect(count <= 25, "The help of \(command) has \(count) lines.")
            #expect(examples.count <= 3, "The help of \(command) has \(examples.count) examples.")
        }
    }

    @Test("No option of journal is hidden")
    func options() {
        for command in Self.commands() {
            #expect(
                JournalCommand.helpMessage(for: command, columns: 100)
                    == JournalCommand.helpMessage(for: command, includeHidden: true, columns: 100))
        }
    }
}
