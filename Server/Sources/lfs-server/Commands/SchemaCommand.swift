import ArgumentParser
import LFSSyncServer

/// A command that prints, checks and migrates the schema of the sync database.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Prints, checks and migrates the tables of the sync database.",
        discussion: "'serve' checks and migrates the tables when it starts.",
        subcommands: [Print.self, Check.self, Migrate.self])

    struct Print: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the statements that create an empty database.")

        @Option(help: ArgumentHelp("A database of the app. The default is the uploader's schema.", valueName: "file"))
        var schemaFrom: String?
        @Flag(help: "Print statements for PostgreSQL instead of SQLite.") var postgres = false
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
            abstract: "Checks the database against the schema and prints what a migration would do. Changes nothing.")

        @OptionGroup var sync: SyncStoreOptions

        func run() async throws {
            // A check creates no file.
            let pending =
                sync.isMissing
                ? try SyncStore.statements(for: try sync.schema(), dialect: .sqlite)
                : try await sync.withStore { try await $0.pending() }
            guard !pending.isEmpty else {
                Console.print("The database matches the schema.")
                return
            }
            Console.print("-- 'lfs-server schema migrate' would run:")
            for statement in pending { Console.print(statement + ";\n") }
        }
    }

    struct Migrate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds the tables, columns and versions that the database lacks. Removes nothing.")

        @OptionGroup var sync: SyncStoreOptions

        func run() async throws {
            let done = try await sync.withStore(mayCreate: true) { try await $0.migrate() }
            Console.print(done.isEmpty ? "There was nothing to do." : "\(done.count) statements were run.")
        }
    }
}
