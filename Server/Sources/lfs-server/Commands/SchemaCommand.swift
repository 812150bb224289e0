import ArgumentParser
import LFSSyncServer

/// Shows and changes what the database of shared rows is made of.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Prints, checks and migrates the tables of the rows that devices share.",
        discussion: "'serve' checks and migrates by itself when it begins.",
        subcommands: [Print.self, Check.self, Migrate.self])

    struct Print: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the statements that make an empty database.")

        @Option(help: ArgumentHelp("A database of the app. The uploader's by default.", valueName: "file"))
        var schemaFrom: String?
        @Flag(help: "In the words of PostgreSQL. SQLite's by default.") var postgres = false
        @OptionGroup var sharing: SharingOptions

        func run() async throws {
            let schema = try sharing.adding(to: try SyncStoreOptions.schema(schemaFrom))
            for statement in try SyncStore.statements(for: schema, dialect: postgres ? .postgres : .sqlite) {
                Console.print(statement + ";\n")
            }
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says what is not as the server has made it, and what a migration would do. Changes nothing.")

        @OptionGroup var sync: SyncStoreOptions

        func run() async throws {
            let pending = try await sync.withStore { try await $0.pending() }
            guard !pending.isEmpty else {
                Console.print("The database is as the schema wants it.")
                return
            }
            Console.print("-- 'lfs-server schema migrate' would run:")
            for statement in pending { Console.print(statement + ";\n") }
        }
    }

    struct Migrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds tables, columns and versions that the schema has come to have. Takes nothing away.")

        @OptionGroup var sync: SyncStoreOptions

        func run() async throws {
            let done = try await sync.withStore { try await $0.migrate() }
            Console.print(done.isEmpty ? "There was nothing to do." : "\(done.count) statements were run.")
        }
    }
}
