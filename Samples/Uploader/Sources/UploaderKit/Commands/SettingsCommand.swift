import ArgumentParser
import GRDB
import LFSSettings

struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show and change the settings of a database.",
        discussion: """
            A setting applies where the command line gives no value. The values of secrets
            are never shown. An unknown name or an invalid value ends with exit status 1
            and changes nothing. 'uploader help settings set' explains each setting.

            EXAMPLES
              Show all settings:
                uploader settings list --database photos.sqlite
              Start backups only on the charger:
                uploader settings set --database photos.sqlite \\
                  backup.requiresCharging true
            """,
        subcommands: [
            List.self, Get.self, Set.self, Remove.self, Audit.self, ClearCache.self, LogOut.self, FullReset.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Show each setting with its value and its default.")
        @OptionGroup var database: DatabaseOptions
        @Flag(name: .long, help: "Print one JSON object per setting.")
        var json = false

        func run() async throws {
            var states: [SettingLine.State] = []
            try await database.withSettings(json: json) { storage in
                for line in UploaderSettings.lines { states.append(try await line.state(storage)) }
                let widths = Console.showsResults ? SettingLine.Widths(states) : .init()
                for state in states {
                    Console.result(json ? try state.jsonLine(event: "setting") : state.words(widths))
                }
            }
            if states.contains(where: { $0.problem != nil }) { throw ExitCode.failure }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "get", abstract: "Print the value of a setting.")
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String

        func run() async throws {
            try await database.withSettings { storage in
                let text = Printable.text(try await SettingLine.named(key).text(storage))
                // A script gets an empty line for an empty list.
                Console.result(text.isEmpty && Console.showsResults ? "not set" : text)
            }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Change a setting.",
            discussion: """
                The settings and their values:

                \(UploaderSettings.meanings)
                """)
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String
        @Argument(help: "The new value.") var value: String

        func run() async throws {
            try await database.withSettings { storage in try await SettingLine.named(key).set(value, storage: storage) }
            AccountSettings.noteHost(of: key, value: value)
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Reset a setting to its default.")
        @OptionGroup var database: DatabaseOptions
        @Argument(help: "The name of the setting.") var key: String

        func run() async throws {
            try await database.withSettings { storage in try await SettingLine.named(key).remove(storage) }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "audit",
            abstract: "Show where settings are stored, without values, and stored names that are unknown.")
        @OptionGroup var database: DatabaseOptions
        @Flag(name: .long, help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await database.withSettings { storage in
                let audit = try await storage.audit()
                if json { return Console.result(try audit.jsonLine(event: "audit")) }
                // As in 'list', a script gets no header.
                let isShown = Console.showsResults
                let width = isShown ? audit.entries.map(\.key.utf8.count).max() ?? 0 : 0
                if isShown {
                    Console.result("\(Format.column("name", width: width))  type, place, protection, stored")
                }
                for entry in audit.entries {
                    let stored = entry.storedCount > 0 ? "\(Format.bytes(Int64(entry.byteCount))) stored" : "not stored"
                    let protection = entry.security == "none" ? "unprotected" : entry.security
                    let problem = entry.problem.map { ", \($0)" } ?? ""
                    Console.result(
                        """
                        \(Format.column(entry.key, width: width))  \(entry.type), \(entry.domain), \(protection), \
                        \(stored)\(problem)
                        """)
                }
                for orphan in audit.orphans {
                    Console.result("\(Printable.text(orphan.name))  no setting has this name, in \(orphan.place)")
                }
            }
        }
    }
}

extension SettingLine {
    /// - Throws: ``UploaderError`` for an unknown name, with a list of the known ones.
    fileprivate static func named(_ name: String) throws -> SettingLine {
        let lines = UploaderSettings.lines
        if let line = lines.first(where: { $0.name == name }) { return line }
        throw UploaderError(
            "There is no setting '\(Printable.text(name))'. There are: \(lines.map(\.name).joined(separator: ", ")).")
    }
}

extension DatabaseOptions {
    /// Opens the settings of an existing uploader database.
    fileprivate func withSettings(json: Bool = false, _ body: (StorageRouter) async throws -> Void) async throws {
        try await reportingErrors(json: json) { try await UploaderSettings.use(at: database, body) }
    }
}
