import ArgumentParser
import GRDB
import LFSSettings

struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show and change the settings of a database.",
        discussion: """
            They count where the command line says nothing else. A secret's value is
            never shown. An unknown name or a value of another kind ends with exit status
            1, and nothing is changed.
            """,
        subcommands: [List.self, Get.self, Set.self, Remove.self, Audit.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Show every setting, its default and its state.")
        @OptionGroup var database: DatabaseOptions
        @Flag(name: .long, help: "Print one JSON object for each.")
        var json = false

        func run() async throws {
            var states: [SettingLine.State] = []
            try await database.withSettings(json: json) { storage in
                for line in UploaderSettings.lines { states.append(try await line.state(storage)) }
                let widths = Console.showsResults ? SettingLine.Widths(states) : .init()
                for state in states { Console.result(json ? try state.jsonLine() : state.words(widths)) }
            }
            if states.contains(where: { $0.problem != nil }) { throw ExitCode.failure }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Print the bare value of a setting.")
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String

        func run() async throws {
            try await database.withSettings { storage in
                Console.result(Printable.text(try await SettingLine.named(key).text(storage)))
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Change a setting.",
            discussion: """
                These are there, with what their values look like:

                \(UploaderSettings.forms)

                What 'backup --when' calls unmetered is backup.requiresWiFi, and mains is
                backup.requiresCharging.
                """)
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String
        @Argument(help: "Its value.") var value: String

        func run() async throws {
            try await database.withSettings { storage in try await SettingLine.named(key).set(value, storage) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Go back to the default of a setting.")
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String

        func run() async throws {
            try await database.withSettings { storage in try await SettingLine.named(key).remove(storage) }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "audit",
            abstract: "Show what is stored of each setting, never a value, and what no setting knows.")
        @OptionGroup var database: DatabaseOptions
        @Flag(name: .long, help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await database.withSettings { storage in
                let audit = try await storage.audit()
                if json { return Console.result(try audit.jsonLine()) }
                for entry in audit.entries {
                    let stored = entry.storedCount > 0 ? "\(Format.bytes(Int64(entry.byteCount))) stored" : "not stored"
                    let problem = entry.problem.map { ", \($0)" } ?? ""
                    Console.result(
                        "\(entry.key)  \(entry.type), \(entry.domain), \(entry.security), \(stored)\(problem)")
                }
                for orphan in audit.orphans {
                    Console.result("\(Printable.text(orphan.name))  no setting has this name, in \(orphan.place)")
                }
            }
        }
    }
}

extension SettingLine {
    /// - Throws: ``UploaderError`` for an unknown name, with those that there are.
    fileprivate static func named(_ name: String) throws -> SettingLine {
        let lines = UploaderSettings.lines
        if let line = lines.first(where: { $0.name == name }) { return line }
        throw UploaderError(
            "There is no setting '\(Printable.text(name))'. There are: \(lines.map(\.name).joined(separator: ", ")).")
    }
}

extension DatabaseOptions {
    /// Opens the settings of an uploader's database that is there.
    fileprivate func withSettings(json: Bool = false, _ body: (StorageRouter) async throws -> Void) async throws {
        try await reportingErrors(json: json) {
            let file = try DatabaseFile(at: database)
            try file.requireThere()
            try file.requireOurs()
            let database = try DocumentDatabase.open(file)
            let storage = try await UploaderSettings.open(database)
            try await body(storage)
            try await storage.stop()
            try DocumentDatabase.close(database)
        }
    }
}
