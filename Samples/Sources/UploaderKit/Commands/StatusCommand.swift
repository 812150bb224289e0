import ArgumentParser
import GRDB

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how many files are offloaded, and why others are not.")

    @OptionGroup var database: DatabaseOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run() throws {
        try reportingErrors(json: json) {
            let (connection, table) = try DocumentDatabase.openForReading(database.database)
            let state = try connection.read { db in try StatusState(table, db) }
            if json { return Console.result(try StatusFigures(state).jsonLine()) }
            for line in state.lines { Console.result(line) }
        }
    }
}
