import ArgumentParser
import GRDB

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how many files are on the storage, and why others are not.",
        discussion: """
            Files on the storage are 'remote', all others are 'local'. 'failed' counts the
            files whose upload was given up, or whose object or bytes were found missing or
            damaged. The command reads the database only, and does not use the network.

            EXAMPLES
              Show the state for people:
                uploader status --database photos.sqlite
              Show it for a script:
                uploader status --database photos.sqlite --json
            """)

    @OptionGroup var database: DatabaseOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run() throws {
        try reportingErrors(json: json) {
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            let state = try connection.read { db in try StatusState(table, db) }
            if json { return Console.result(try StatusFigures(state).jsonLine(event: "status")) }
            for line in state.lines { Console.result(line) }
        }
    }
}
